import type { Database } from "bun:sqlite";

/** What is held for a call, as the file says it to whoever opens it: in the journal, or in the call's row. */
export const holdOnDisk = (db: Database, callId: string): number | undefined =>
  db
    .query<{ held: number }, [string]>(
      `SELECT CAST(line.value ->> 6 AS INTEGER) AS held FROM journal, json_each(lines) AS line
       WHERE line.value ->> 0 = 'held' AND line.value ->> 1 = ?1
       UNION ALL SELECT held_micros FROM call WHERE id = ?1 AND settled_at_ms IS NULL`,
    )
    .get(callId)?.held;
