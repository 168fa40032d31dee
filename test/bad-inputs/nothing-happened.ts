// What "nothing happened" means: no row was written anywhere, no balance moved, no vendor was asked.

import { Database } from "bun:sqlite";
import { expect } from "bun:test";

import { openSqliteStore } from "../../gateway/src/stores/sqlite/sqlite-store.ts";
import type { TestGateway } from "../harness.ts";

/** Runs `act`; the books must look the same to a second reader of the file before and after. */
export async function expectNothingHappened<Result>(
  gateway: TestGateway,
  act: () => Promise<Result>,
): Promise<Result> {
  const before = await look(gateway);
  const result = await act();
  expect(await look(gateway)).toEqual(before);
  return result;
}

async function look({ databasePath, sandbox }: TestGateway) {
  // What earlier calls left in the journal is posted first, so that nothing but a new call can change a row.
  const store = openSqliteStore({ path: databasePath });
  await store.accounts.list();
  await store.close();
  return { ...readBooks(databasePath), asked: (await sandbox.book()).length };
}

interface BooksSeen {
  /** Rows of every table: a row written anywhere shows. */
  readonly rows: Readonly<Record<string, number>>;
  readonly postedMicros: number;
  readonly heldMicros: number;
}

export function readBooks(databasePath: string): BooksSeen {
  const db = new Database(databasePath, { readonly: true });
  try {
    const tables = db
      .query<{ name: string }, []>("SELECT name FROM sqlite_master WHERE type = 'table'")
      .all();
    const rows: Record<string, number> = {};
    for (const { name } of tables) {
      rows[name] = db.query<{ n: number }, []>(`SELECT COUNT(*) AS n FROM "${name}"`).get()?.n ?? 0;
    }
    const sums = db
      .query<{ posted: number; held: number }, []>(
        "SELECT SUM(posted_micros) AS posted, SUM(held_micros) AS held FROM account",
      )
      .get();
    return { rows, postedMicros: sums?.posted ?? 0, heldMicros: sums?.held ?? 0 };
  } finally {
    db.close();
  }
}
