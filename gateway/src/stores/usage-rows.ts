// Usage as both databases give it: sums of buckets, and calls that are counted one by one.

import type { CallOutcome } from "../ledger/call-record.ts";
import { tokenTotals, type Quantities } from "../prices/quantities.ts";
import { addSums, noUsage, type UsageSums } from "../usage/usage-report.ts";

export const widthSeconds = { second: 1, minute: 60, hour: 3_600, day: 86_400 } as const;

export interface SumsRow {
  requests: bigint;
  failed: bigint;
  input: bigint;
  output: bigint;
  cache_read: bigint;
  cache_write: bigint;
  value: bigint;
  charged: bigint;
}

export const sumsOf = (row: SumsRow): UsageSums => ({
  requests: Number(row.requests),
  failedRequests: Number(row.failed),
  inputTokens: Number(row.input),
  outputTokens: Number(row.output),
  cacheReadTokens: Number(row.cache_read),
  cacheWriteTokens: Number(row.cache_write),
  valueMicros: row.value,
  chargedMicros: row.charged,
});

/** The sums of keys, of models or of operations, by name. */
export type UsageGroups = Map<string | undefined, UsageSums>;

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
}

export const groupNames = {
  model: ({ model }: CountedCall) => model ?? undefined,
  operation: ({ operation_id: operationId }: CountedCall) => operationId,
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
