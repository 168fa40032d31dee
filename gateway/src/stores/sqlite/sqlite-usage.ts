import type { Database } from "bun:sqlite";
import type { Books } from "./books.ts";
import type { DaySums, UsageBook, UsageScope, UsageSegment } from "../../usage/usage-report.ts";

interface SumsRow {
  day: bigint;
  requests: bigint;
  failed: bigint;
  input: bigint;
  output: bigint;
  cache_read: bigint;
  cache_write: bigint;
  value: bigint;
  charged: bigint;
}

export function createSqliteUsage(db: Database, books: Books): UsageBook {
  const sql = prepare(db);
  const readAll = db.transaction((scope: UsageScope, segments: readonly UsageSegment[]): DaySums[] =>
    segments.flatMap((segment) => rowsOf(scope, segment).map(daySumsOf)),
  );

  const rowsOf = (scope: UsageScope, { source, fromSeconds, toSeconds }: UsageSegment): SumsRow[] => {
    const { accountId, keyId = null } = scope;
    return sql.sums.all(accountId, widthSeconds[source], fromSeconds, toSeconds, keyId);
  };

  return { sums: (scope, segments) => books.read(() => readAll(scope, segments)) };
}

const daySumsOf = (row: SumsRow): DaySums => ({
  daySeconds: Number(row.day),
  requests: Number(row.requests),
  failedRequests: Number(row.failed),
  inputTokens: Number(row.input),
  outputTokens: Number(row.output),
  cacheReadTokens: Number(row.cache_read),
  cacheWriteTokens: Number(row.cache_write),
  valueMicros: row.value,
  chargedMicros: row.charged,
});

const widthSeconds = { second: 1, minute: 60, hour: 3_600, day: 86_400 } as const;

const sums = `sum(requests) AS requests, sum(failed_requests) AS failed, sum(input_tokens) AS input,
  sum(output_tokens) AS output, sum(cache_read_tokens) AS cache_read, sum(cache_write_tokens) AS cache_write,
  sum(value_micros) AS value, sum(charged_micros) AS charged`;

function prepare(db: Database) {
  return {
    // Buckets are keyed by time first, so each moment of the segment is looked up on its own; a segment has at
    // most a few hundred days, or the hours of one day, the minutes of one hour, or the seconds of one minute.
    sums: db.query<SumsRow, [string, number, number, number, string | null]>(
      `WITH RECURSIVE moment (start) AS (
         SELECT ?3 UNION ALL SELECT start + ?2 FROM moment WHERE start + ?2 < ?4
       )
       SELECT start - start % 86400 AS day, ${sums}
       FROM moment CROSS JOIN usage_bucket
         ON width_seconds = ?2 AND start_seconds = start AND account_id = ?1 AND (?5 IS NULL OR key_id = ?5)
       GROUP BY day`,
    ),
  };
}
