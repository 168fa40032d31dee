import { tokenTotals } from "../../operation/quantities.ts";
import { noUsage, type UsageSums } from "../../usage/usage-report.ts";
import type { CallEnd, HeldCall } from "./sheet.ts";

/** Usage is kept by the second, the minute, the hour and the day, so that any span of time is the sum of few rows. */
export const bucketWidthsSeconds = [1, 60, 3_600, 86_400] as const;

export interface Bucket {
  readonly widthSeconds: number;
  readonly startSeconds: number;
  readonly accountId: string;
  readonly keyId: string;
  readonly sums: { -readonly [Figure in keyof UsageSums]: UsageSums[Figure] };
}

/** Adds an ended call to its second. */
export function addUsage(
  seconds: Map<string, Bucket>,
  { accountId, keyId }: HeldCall,
  { used, outcome, valueMicros, chargedMicros, settledAtMs }: CallEnd,
): void {
  const tokens = tokenTotals(used);
  const { sums } = bucketIn(seconds, { accountId, keyId }, 1, Math.floor(settledAtMs / 1000));
  sums.requests++;
  if (outcome !== "succeeded") sums.failedRequests++;
  sums.inputTokens += tokens.input;
  sums.outputTokens += tokens.output;
  sums.cacheReadTokens += tokens.cacheRead;
  sums.cacheWriteTokens += tokens.cacheWrite;
  sums.valueMicros += valueMicros;
  sums.chargedMicros += chargedMicros;
}

/** The buckets of every width that contain the given seconds. */
export function bucketsOf(seconds: ReadonlyMap<string, Bucket>): Iterable<Bucket> {
  const all = new Map<string, Bucket>(seconds);
  for (const second of seconds.values()) {
    for (const widthSeconds of bucketWidthsSeconds) {
      if (widthSeconds === 1) continue;
      const startSeconds = second.startSeconds - (second.startSeconds % widthSeconds);
      const { sums } = bucketIn(all, second, widthSeconds, startSeconds);
      sums.requests += second.sums.requests;
      sums.failedRequests += second.sums.failedRequests;
      sums.inputTokens += second.sums.inputTokens;
      sums.outputTokens += second.sums.outputTokens;
      sums.cacheReadTokens += second.sums.cacheReadTokens;
      sums.cacheWriteTokens += second.sums.cacheWriteTokens;
      sums.valueMicros += second.sums.valueMicros;
      sums.chargedMicros += second.sums.chargedMicros;
    }
  }
  return all.values();
}

function bucketIn(
  all: Map<string, Bucket>,
  { accountId, keyId }: { readonly accountId: string; readonly keyId: string },
  widthSeconds: number,
  startSeconds: number,
): Bucket {
  const name = `${widthSeconds} ${startSeconds} ${keyId}`;
  let bucket = all.get(name);
  if (!bucket)
    all.set(name, (bucket = { widthSeconds, startSeconds, accountId, keyId, sums: { ...noUsage } }));
  return bucket;
}
