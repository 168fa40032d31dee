import type { Database } from "bun:sqlite";
import { widthsSeconds, type UsageScope, type UsageSegment } from "../../usage/usage-report.ts";
import { bucketFigures } from "../usage-buckets.ts";
import type { SumsRow } from "../usage-rows.ts";

/** What the usage buckets sum to in one segment, by day or by key; those of all accounts by start, or by start and account. */
export function prepareUsage(db: Database) {
  const byDay = db.query<SumsRow & { day: bigint }, [string, number, number, number, string | null]>(
    summed("start - start % 86400 AS day", "(?5 IS NULL OR key_id = ?5)"),
  );
  const byKey = db.query<SumsRow & { key_id: string }, [string, number, number, number]>(
    summed("key_id", "true"),
  );
  const wholeByStart = db.query<SumsRow & { start: bigint }, [number, number, number]>(
    wholeSummed("start_seconds AS start", "start_seconds"),
  );
  const wholeByAccount = db.query<SumsRow & { account_id: string }, [number, number, number]>(
    wholeSummed("account_id", "start_seconds, account_id"),
  );
  return {
    byDay: ({ accountId, keyId }: UsageScope, { width, fromSeconds, toSeconds }: UsageSegment) =>
      byDay.all(accountId, widthsSeconds[width], fromSeconds, toSeconds, keyId ?? null),
    byKey: (accountId: string, { width, fromSeconds, toSeconds }: UsageSegment) =>
      byKey.all(accountId, widthsSeconds[width], fromSeconds, toSeconds),
    wholeByStart: ({ width, fromSeconds, toSeconds }: UsageSegment) =>
      wholeByStart.all(widthsSeconds[width], fromSeconds, toSeconds),
    wholeByAccount: ({ width, fromSeconds, toSeconds }: UsageSegment) =>
      wholeByAccount.iterate(widthsSeconds[width], fromSeconds, toSeconds),
  };
}

const sums = bucketFigures.map((figure) => `sum(${figure}) AS ${figure}`).join(", ");

// Buckets are keyed by time first, so each moment of the segment is looked up on its own; a segment has at
// most a few hundred days, or the hours of one day, the minutes of one hour, or the seconds of one minute.
const summed = (group: string, filter: string): string => `
  WITH RECURSIVE moment (start) AS (
    SELECT ?3 UNION ALL SELECT start + ?2 FROM moment WHERE start + ?2 < ?4
  )
  SELECT ${group}, ${sums}
  FROM moment CROSS JOIN usage_bucket
    ON width_seconds = ?2 AND start_seconds = start AND account_id = ?1 AND ${filter}
  GROUP BY 1`;

// Everybody's buckets of a segment stand together. They are summed up in the order in which they stand, because thousands of
// accounts on hundreds of days would be sorted on disk.
const wholeSummed = (group: string, order: string): string => `
  SELECT ${group}, ${sums} FROM usage_bucket
  WHERE width_seconds = ?1 AND start_seconds >= ?2 AND start_seconds < ?3
  GROUP BY ${order}`;
