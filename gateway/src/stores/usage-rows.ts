// Usage as both databases give it: sums of buckets, and calls that are counted one by one.

import type { Attempt, CallOutcome } from "../ledger/call-record.ts";
import { tokenTotals, type Quantities } from "../prices/quantities.ts";
import { addSums, noUsage, type GroupSums, type UsageSums } from "../usage/usage-report.ts";
import type { bucketFigures } from "./usage-buckets.ts";

export type SumsRow = Readonly<Record<(typeof bucketFigures)[number], bigint>>;

export const sumsOf = (row: SumsRow): UsageSums => ({
  requests: Number(row.requests),
  failedRequests: Number(row.failed_requests),
  inputTokens: Number(row.input_tokens),
  outputTokens: Number(row.output_tokens),
  cacheReadTokens: Number(row.cache_read_tokens),
  cacheWriteTokens: Number(row.cache_write_tokens),
  valueMicros: row.value_micros,
  chargedMicros: row.charged_micros,
});

/** The sums of accounts, of keys, of models, of operations or of upstreams, by name. */
export type UsageGroups = Map<string | undefined, UsageSums>;

export const groupSumsOf = (groups: UsageGroups): GroupSums[] =>
  [...groups].map(([name, sums]) => ({ name, ...sums }));

export function addUsage(groups: UsageGroups, name: string | undefined, more: UsageSums): void {
  groups.set(name, addSums(groups.get(name) ?? noUsage, more));
}

/** An ended call, as far as it counts. */
export interface CountedCall {
  readonly operation_id: string;
  readonly model: string | null;
  readonly outcome: CallOutcome;
  readonly used: string;
  readonly value_micros: bigint;
  readonly charged_micros: bigint;
  readonly attempts: string;
}

export const groupNames = {
  model: ({ model }: CountedCall) => model ?? undefined,
  operation: ({ operation_id: operationId }: CountedCall) => operationId,
  // The ledger alone writes them, from this very type. Nobody is asked after an answer that is charged, so the last one gave it.
  upstream: ({ attempts }: CountedCall) => (JSON.parse(attempts) as Attempt[]).at(-1)?.upstream,
} as const;

/** What the buckets count a call for. */
export function usageOf(call: CountedCall): UsageSums {
  // Written by the ledger alone, from this very type.
  const tokens = tokenTotals(JSON.parse(call.used) as Quantities);
  return {
    requests: 1,
    failedRequests: call.outcome === "succeeded" ? 0 : 1,
    inputTokens: tokens.input,
    outputTokens: tokens.output,
    cacheReadTokens: tokens.cacheRead,
    cacheWriteTokens: tokens.cacheWrite,
    valueMicros: call.value_micros,
    chargedMicros: call.charged_micros,
  };
}
