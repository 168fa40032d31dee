// What tests of broken connections and servers ask of a database, and how they hear what the store says of it.

import { SQL } from "bun";
import { InDoubt, StoreBusy } from "../../ledger/store-errors.ts";

export async function inDatabase<Found>(url: string, ask: (sql: SQL) => Promise<Found>): Promise<Found> {
  const sql = new SQL({ url, max: 1, bigint: true });
  try {
    return await ask(sql);
  } finally {
    await sql.close();
  }
}

export const countRows = (url: string, from: string): Promise<number> =>
  inDatabase(url, async (sql) => {
    const rows: unknown[] = await sql.unsafe(`SELECT 1 FROM ${from}`);
    return rows.length;
  });

export const countEndedRuns = (url: string): Promise<number> =>
  countRows(url, "run WHERE ended_at_ms IS NOT NULL");

/** What was answered, or why it was not. */
export const settled = (asked: Promise<unknown>): Promise<unknown> => asked.catch((error: unknown) => error);

/** The store did not say whether anything was done. */
export const isNotTold = (told: unknown): boolean => told instanceof StoreBusy || told instanceof InDoubt;

/** Asks again as long as the store says that it cannot tell. */
export async function insist<Result>(ask: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!isNotTold(error)) throw error;
      await Bun.sleep(20);
    }
  }
}
