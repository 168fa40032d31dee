import type { Database } from "bun:sqlite";
import { resolve } from "node:path";
import { checkData, type OpeningEvents } from "../../data-place.ts";
import type { OldBooks, TableRows } from "../../move-books.ts";
import { openDatabase } from "./database.ts";
import { findSecret } from "../installation-rows.ts";
import { isThere } from "../../../platform/is-there.ts";
import { closeForMove, markArrived, readMovedMark, reopen } from "./moved-mark.ts";
import { realPathOf } from "./real-path.ts";
import { takeServerLock } from "./server-lock.ts";
import { openSqliteStore } from "../sqlite-store.ts";

/** What moves: tables as they are, or what a statement makes of them, in an order in which no row names a later one. */
const moving: readonly { readonly table: string; readonly select?: string }[] = [
  { table: "run" },
  { table: "account" },
  { table: "key" },
  { table: "key_secret" },
  { table: "price" },
  { table: "budget" },
  { table: "oauth_grant" },
  { table: "grant_day" },
  { table: "call" },
  { table: "payment" },
  { table: "usage_bucket" },
  {
    table: "claim",
    // A key may have been taken again after its time was over; the call that has it is open, or ended last.
    select: `
      SELECT account_id, key_hash, fingerprint, call_id, created_at_ms FROM (
        SELECT call.account_id, key_hash, fingerprint, call_id, call.created_at_ms, row_number() OVER (
                 PARTITION BY call.account_id, key_hash ORDER BY settled_at_ms IS NULL DESC, settled_at_ms DESC) AS place
        FROM (SELECT key_hash, fingerprint, call_id FROM claim UNION ALL
              SELECT key_hash, fingerprint, call_id FROM idempotency) JOIN call ON call.id = call_id)
      WHERE place = 1`,
  },
  { table: "task" },
  { table: "quota_application" },
  { table: "link_attempt" },
  { table: "link" },
  { table: "publication" },
  { table: "sign_in_record" },
  { table: "kept_answer" },
  { table: "approval" },
  { table: "approval_item" },
];

/** The secret's fingerprint is compared; the others are posted, or say in another way what those that move say. */
export const staying: readonly string[] = [
  "installation",
  "journal",
  "account_call",
  "unlisted",
  "idempotency",
];

/** The same days, by the names that say so. */
const renamed: ReadonlyMap<string, string> = new Map([
  ["budget.window_start_ms", "day_start_ms"],
  ["grant_day.start_ms", "day_start_ms"],
  ["call.budget_window_start_ms", "budget_day_start_ms"],
]);

const rowsAtOnce = 1_000;

interface Parts extends OpeningEvents {
  readonly wallMs: () => number;
}

interface HeldOldBooks {
  readonly books: OldBooks;
  readonly release: () => void;
}

/** Holds the server's place, so that nobody serves from the file meanwhile. */
export async function openOldBooks(givenPath: string, { wallMs, ...events }: Parts): Promise<HeldOldBooks> {
  const path = realPathOf(givenPath);
  const name = resolve(givenPath);
  await checkData({ name, hasData: async () => isThere(path) });
  const lock = takeServerLock(`${path}.lock`);
  if (!lock) throw new Error(`A Tollgate is serving ${name}. Stop it, and move the books then.`);
  try {
    const db = openDatabase(path, events);
    return {
      books: oldBooks(db, { path, name, wallMs }),
      release: () => {
        db.close();
        lock.release();
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

interface FileParts {
  readonly path: string;
  readonly name: string;
  readonly wallMs: () => number;
}

function oldBooks(db: Database, { path, name, wallMs }: FileParts): OldBooks {
  const begun = readMovedMark(db);
  if (begun?.hasArrived) throw new Error(`The books of ${name} were moved to ${begun.to} before.`);
  return {
    name,
    fingerprint: findSecret(db),
    begun,
    close: async (move) => {
      await endAndProve(path, wallMs());
      closeForMove(db, move);
    },
    rows: () => rowsOf(db),
    reopen: () => reopen(db),
    leave: () => markArrived(db),
  };
}

async function endAndProve(path: string, nowMs: number): Promise<void> {
  const store = openSqliteStore({ path });
  try {
    await store.ledger.beginRun(nowMs);
    const { findings } = await store.auditor.audit();
    if (findings.length > 0)
      throw new Error(`The books do not balance, and were not moved. "tollgate audit" says where.`);
  } finally {
    await store.close();
  }
}

/** Everything the file has, table by table and some rows at a time. */
export function* rowsOf(db: Database): Iterable<TableRows> {
  for (const { table, select = selectAll(db, table) } of moving) {
    let rows: TableRows["rows"][number][] = [];
    for (const row of db.query<TableRows["rows"][number], []>(select).iterate()) {
      rows.push(row);
      if (rows.length < rowsAtOnce) continue;
      yield { table, rows };
      rows = [];
    }
    yield { table, rows };
  }
}

function selectAll(db: Database, table: string): string {
  const columns = db
    .query<{ name: string }, [string]>("SELECT name FROM pragma_table_info(?1)")
    .all(table)
    .map(({ name }) => `${name} AS ${renamed.get(`${table}.${name}`) ?? name}`);
  return `SELECT ${columns.join(", ")} FROM ${table}`;
}
