import { widthsSeconds, type UsageSums } from "../usage/usage-report.ts";

/** The narrowest first. There are several, so that any span of time is the sum of few rows. */
export const bucketWidthsSeconds: readonly number[] = Object.values(widthsSeconds).toSorted((a, b) => a - b);

/** The columns in which the row of a bucket sums up its calls, in the order in which statements are given them. */
export const bucketFigures = [
  "requests",
  "failed_requests",
  "input_tokens",
  "output_tokens",
  "cache_read_tokens",
  "cache_write_tokens",
  "value_micros",
  "charged_micros",
] as const;

export interface Bucket {
  readonly widthSeconds: number;
  readonly startSeconds: number;
  readonly accountId: string;
  readonly keyId: string;
  readonly sums: { -readonly [Figure in keyof UsageSums]: UsageSums[Figure] };
}

/** The buckets of every width that contain the seconds of one key, which are in order. */
export function bucketsOf(seconds: readonly Bucket[]): Bucket[] {
  return bucketWidthsSeconds.flatMap((widthSeconds) =>
    widthSeconds === 1 ? seconds : widened(seconds, widthSeconds),
  );
}

function widened(seconds: readonly Bucket[], widthSeconds: number): Bucket[] {
  const wide: Bucket[] = [];
  for (const second of seconds) {
    const startSeconds = second.startSeconds - (second.startSeconds % widthSeconds);
    const last = wide.at(-1);
    if (last?.startSeconds === startSeconds) add(last.sums, second.sums);
    else wide.push({ ...second, widthSeconds, startSeconds, sums: { ...second.sums } });
  }
  return wide;
}

function add(to: Bucket["sums"], more: UsageSums): void {
  to.requests += more.requests;
  to.failedRequests += more.failedRequests;
  to.inputTokens += more.inputTokens;
  to.outputTokens += more.outputTokens;
  to.cacheReadTokens += more.cacheReadTokens;
  to.cacheWriteTokens += more.cacheWriteTokens;
  to.valueMicros += more.valueMicros;
  to.chargedMicros += more.chargedMicros;
}
