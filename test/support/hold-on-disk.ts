import type { TestData } from "./test-data.ts";

/** What is held for a call, as the data says it to whoever opens it: in SQLite's journal, or in the call's row. */
export async function holdOnDisk({ query }: TestData, callId: string): Promise<number | undefined> {
  const inRow = `SELECT held_micros AS held FROM call WHERE id = '${callId}' AND settled_at_ms IS NULL`;
  const [found] = await query<{ held: number }>({
    sqlite: `SELECT CAST(line.value ->> 6 AS INTEGER) AS held FROM journal, json_each(lines) AS line
             WHERE line.value ->> 0 = 'held' AND line.value ->> 1 = '${callId}' UNION ALL ${inRow}`,
    postgres: inRow,
  });
  return found?.held;
}
