import type { Database } from "bun:sqlite";
import type { UsageScope, UsageSegment } from "../../usage/usage-report.ts";
import { widthSeconds, type SumsRow } from "../usage-rows.ts";

/** What the usage buckets sum to in one segment, by day or by key. */
export function prepareUsage(db: Database) {
  const byDay = db.query<SumsRow & { day: bigint }, [string, number, number, number, string | null]>(
    summed("start - start % 86400 AS day", "(?5 IS NULL OR key_id = ?5)"),
  );
  const byKey = db.query<SumsRow & { key_id: string }, [string, number, number, number]>(
    summed("key_id", "true"),
  );
  return {
    byDay: ({ accountId, keyId }: UsageScope, { source, fromSeconds, toSeconds }: UsageSegment) =>
      byDay.all(accountId, widthSeconds[source], fromSeconds, toSeconds, keyId ?? null),
    byKey: (accountId: string, { source, fromSeconds, toSeconds }: UsageSegment) =>
      byKey.all(accountId, widthSeconds[source], fromSeconds, toSeconds),
  };
}

// Buckets are keyed by time first, so each moment of the segment is looked up on its own; a segment has at
// most a few hundred days, or the hours of one day, the minutes of one hour, or the seconds of one minute.
const summed = (group: string, filter: string): string => `
  WITH RECURSIVE moment (start) AS (
    SELECT ?3 UNION ALL SELECT start + ?2 FROM moment WHERE start + ?2 < ?4
  )
  SELECT ${group}, sum(requests) AS requests, sum(failed_requests) AS failed, sum(input_tokens) AS input,
         sum(output_tokens) AS output, sum(cache_read_tokens) AS cache_read, sum(cache_write_tokens) AS cache_write,
         sum(value_micros) AS value, sum(charged_micros) AS charged
  FROM moment CROSS JOIN usage_bucket
    ON width_seconds = ?2 AND start_seconds = start AND account_id = ?1 AND ${filter}
  GROUP BY 1`;
