import type { Database } from "bun:sqlite";
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

export function createSqliteUsage(db: Database): UsageBook {
  const sql = prepare(db);
  const readAll = db.transaction((scope: UsageScope, segments: readonly UsageSegment[]): DaySums[] =>
    segments.flatMap((segment) => rowsOf(scope, segment).map(daySumsOf)),
  );

  const rowsOf = (scope: UsageScope, { source, fromSeconds, toSeconds }: UsageSegment): SumsRow[] => {
    const keyId = scope.keyId ?? null;
    if (source === "call") return sql.calls.all(scope.accountId, fromSeconds * 1000, toSeconds * 1000, keyId);
    const widthSeconds = source === "day" ? 86_400 : 60;
    return sql.buckets.all(scope.accountId, widthSeconds, fromSeconds, toSeconds, keyId);
  };

  return { sums: async (scope, segments) => readAll(scope, segments) };
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

function prepare(db: Database) {
  return {
    buckets: db.query<SumsRow, [string, number, number, number, string | null]>(
      `SELECT start_seconds - start_seconds % 86400 AS day, sum(requests) AS requests,
              sum(failed_requests) AS failed, sum(input_tokens) AS input, sum(output_tokens) AS output,
              sum(cache_read_tokens) AS cache_read, sum(cache_write_tokens) AS cache_write,
              sum(value_micros) AS value, sum(charged_micros) AS charged
       FROM usage_bucket
       WHERE account_id = ?1 AND width_seconds = ?2 AND start_seconds >= ?3 AND start_seconds < ?4
         AND (?5 IS NULL OR key_id = ?5)
       GROUP BY day`,
    ),
    calls: db.query<SumsRow, [string, number, number, string | null]>(
      `SELECT settled_at_ms / 1000 - settled_at_ms / 1000 % 86400 AS day, count(*) AS requests,
              sum(outcome <> 'succeeded') AS failed,
              sum(coalesce(used ->> '$.input_tokens', 0)) AS input,
              sum(coalesce(used ->> '$.output_tokens', 0)) AS output,
              sum(coalesce(used ->> '$.cache_read_tokens', 0)) AS cache_read,
              sum(coalesce(used ->> '$.cache_write_tokens', 0) + coalesce(used ->> '$.cache_write_1h_tokens', 0))
                AS cache_write,
              sum(value_micros) AS value, sum(charged_micros) AS charged
       FROM call
       WHERE account_id = ?1 AND settled_at_ms >= ?2 AND settled_at_ms < ?3 AND (?4 IS NULL OR key_id = ?4)
       GROUP BY day`,
    ),
  };
}
