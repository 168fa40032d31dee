// For tests: the books of a SQLite file, row by row in Postgres.

import { Database as File } from "bun:sqlite";
import type { Database, Value } from "./database.ts";

/** In an order in which no row names one that is not there yet. Journal and lists have nothing that these have not. */
const tables = ["run", "account", "key", "key_secret", "price", "budget", "call", "payment", "usage_bucket"];

const renamed: Readonly<Record<string, string>> = {
  "budget.window_start_ms": "day_start_ms",
  "call.budget_window_start_ms": "budget_day_start_ms",
};
const yesOrNo = new Set(["suspended"]);

/** The journal of the file must be posted. Its newest run goes on; those before it have ended. */
export async function copyBooks(path: string, db: Database): Promise<void> {
  const file = new File(path, { readonly: true, safeIntegers: true });
  await db.write(async (query) => {
    for (const table of tables) {
      for (const row of file.query<Record<string, Value>, []>(`SELECT * FROM ${table}`).all()) {
        const names = Object.keys(row).map((column) => renamed[`${table}.${column}`] ?? column);
        const values = Object.entries(row).map(([column, value]) =>
          yesOrNo.has(column) ? value === 1n : value,
        );
        const places = names.map((_, index) => `$${index + 1}`);
        await query(
          `INSERT INTO ${table} (${names.join(", ")}) OVERRIDING SYSTEM VALUE VALUES (${places.join(", ")})`,
          values,
        );
      }
    }
    await query(
      `UPDATE run SET ended_at_ms = next.started_at_ms FROM run AS next WHERE next.id = run.id + 1`,
    );
  });
  file.close();
}
