import type { Database } from "bun:sqlite";
import { addSums, type UsageSums } from "../../usage/usage-report.ts";

const widths = [1, 60, 86_400] as const;

/** Collects what the calls of one transaction used, and writes each bucket once before it commits. */
export interface UsageBuckets {
  readonly add: (call: { accountId: string; keyId: string; settledAtMs: number; sums: UsageSums }) => void;
  readonly write: () => void;
  readonly forget: () => void;
}

interface Pending {
  readonly accountId: string;
  readonly keyId: string;
  readonly widthSeconds: number;
  readonly startSeconds: number;
  sums: UsageSums;
}

export function createUsageBuckets(db: Database): UsageBuckets {
  const pending = new Map<string, Pending>();
  const upsert = db.query(`
    INSERT INTO usage_bucket (account_id, width_seconds, start_seconds, key_id, requests, failed_requests, input_tokens,
      output_tokens, cache_read_tokens, cache_write_tokens, value_micros, charged_micros)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
    ON CONFLICT DO UPDATE SET
      requests = requests + ?5, failed_requests = failed_requests + ?6,
      input_tokens = input_tokens + ?7, output_tokens = output_tokens + ?8,
      cache_read_tokens = cache_read_tokens + ?9, cache_write_tokens = cache_write_tokens + ?10,
      value_micros = value_micros + ?11, charged_micros = charged_micros + ?12`);

  return {
    add: ({ accountId, keyId, settledAtMs, sums }) => {
      const seconds = Math.floor(settledAtMs / 1000);
      for (const widthSeconds of widths) {
        const startSeconds = seconds - (seconds % widthSeconds);
        const name = `${keyId} ${widthSeconds} ${startSeconds}`;
        const bucket = pending.get(name);
        if (bucket) bucket.sums = addSums(bucket.sums, sums);
        else pending.set(name, { accountId, keyId, widthSeconds, startSeconds, sums });
      }
    },
    write: () => {
      for (const { accountId, widthSeconds, startSeconds, keyId, sums } of pending.values()) {
        upsert.run(
          accountId,
          widthSeconds,
          startSeconds,
          keyId,
          sums.requests,
          sums.failedRequests,
          sums.inputTokens,
          sums.outputTokens,
          sums.cacheReadTokens,
          sums.cacheWriteTokens,
          sums.valueMicros,
          sums.chargedMicros,
        );
      }
      pending.clear();
    },
    forget: () => pending.clear(),
  };
}
