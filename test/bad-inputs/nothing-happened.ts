// What "nothing happened" means: no row was written anywhere, no balance moved, no vendor was asked.

import { expect } from "bun:test";
import { systemClock } from "../../gateway/src/platform/clock.ts";
import type { TestGateway } from "../support/test-gateway.ts";
import type { TestData } from "../support/test-data.ts";

/** Runs `act`; the books must look the same to a second reader of the data before and after. */
export async function expectNothingHappened<Result>(
  gateway: TestGateway,
  act: () => Promise<Result>,
): Promise<Result> {
  const before = await look(gateway);
  const result = await act();
  expect(await look(gateway)).toEqual(before);
  return result;
}

async function look({ data, sandbox }: TestGateway) {
  // What earlier calls left in SQLite's journal is posted first, so that nothing but a new call can change a row.
  const store = await data.open(systemClock);
  await store.accounts.list();
  await store.close();
  return { ...(await readBooks(data)), asked: (await sandbox.book()).length };
}

interface BooksSeen {
  /** Rows of every table: a row written anywhere shows. */
  readonly rows: Readonly<Record<string, number>>;
  readonly postedMicros: number;
  readonly heldMicros: number;
}

export async function readBooks({ query }: TestData): Promise<BooksSeen> {
  const tables = await query<{ name: string }>({
    sqlite: "SELECT name FROM sqlite_master WHERE type = 'table'",
    postgres: "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'",
  });
  const counts = tables.map(({ name }) => `SELECT '${name}' AS name, count(*) AS n FROM "${name}"`);
  const counted = await query<{ name: string; n: number }>(counts.join(" UNION ALL "));
  const [sums] = await query<{ posted: number | null; held: number | null }>(
    `SELECT CAST(sum(posted_micros) AS BIGINT) AS posted, CAST(sum(held_micros) AS BIGINT) AS held FROM account`,
  );
  return {
    rows: Object.fromEntries(counted.map(({ name, n }) => [name, n])),
    postedMicros: sums?.posted ?? 0,
    heldMicros: sums?.held ?? 0,
  };
}
