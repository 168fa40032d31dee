import type { Micros } from "../platform/money.ts";
import { dayStartSeconds, secondsPerDay } from "../platform/utc-day.ts";

/** What usage is recorded by, the coarsest first; each is made of whole ones of the next. */
export const widthsSeconds = { day: secondsPerDay, hour: 3_600, minute: 60, second: 1 } as const;
const widths = ["day", "hour", "minute", "second"] as const;
type UsageWidth = (typeof widths)[number];

/** A year, and a month beside it to compare with. Every day is a bucket of the report, so there is a most of them. */
export const reportDaysMax = 400;

/** Whole Unix seconds; the end is exclusive. */
export interface UsageWindow {
  readonly startSeconds: number;
  readonly endSeconds: number;
}

export interface UsageScope {
  readonly accountId: string;
  /** Undefined for the whole account. */
  readonly keyId: string | undefined;
}

export interface UsageSums {
  readonly requests: number;
  readonly failedRequests: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly valueMicros: Micros;
  readonly chargedMicros: Micros;
}

/** One part of a window and the coarsest record that covers it exactly. */
export interface UsageSegment {
  readonly width: UsageWidth;
  readonly fromSeconds: number;
  readonly toSeconds: number;
}

export interface DaySums extends UsageSums {
  readonly daySeconds: number;
}

export type UsageGrouping = "key" | "model" | "operation" | "upstream";
/** Keys are told apart within their account. */
export type WholeUsageGrouping = "account" | Exclude<UsageGrouping, "key">;

export interface GroupSums extends UsageSums {
  /**
   * The name of the account, the key, the model, the operation, or the upstream that was asked last; undefined for calls
   * without a model, and for those of which it is not known that an upstream was asked.
   */
  readonly name: string | undefined;
}

/**
 * Invariants: days, hours, minutes and seconds add up to the same sums, and so do the groups of every kind; a call counts
 * from the transaction that settles it.
 */
export interface UsageBook {
  /** The sums of all segments, read at one moment, one row for each UTC day that has any. */
  readonly sums: (scope: UsageScope, segments: readonly UsageSegment[]) => Promise<readonly DaySums[]>;
  /**
   * One row for each group that has any. Models, operations and upstreams are read call by call: undefined when more than
   * `callsMax` calls of the account would have to be looked at for them.
   */
  readonly sumsBy: (
    scope: UsageScope,
    by: UsageGrouping,
    window: UsageWindow,
    callsMax: number,
  ) => Promise<readonly GroupSums[] | undefined>;
  /**
   * The same for all accounts together, however long that takes, and for the operator alone. They are members of their own, so
   * that nobody who forgets to say whose usage is wanted is told everybody's.
   */
  readonly wholeSums: (segments: readonly UsageSegment[]) => Promise<readonly DaySums[]>;
  readonly wholeSumsBy: (by: WholeUsageGrouping, window: UsageWindow) => Promise<readonly GroupSums[]>;
}

export async function readUsage(
  book: Pick<UsageBook, "sums">,
  scope: UsageScope,
  window: UsageWindow,
): Promise<UsageReport> {
  const rows = await book.sums(scope, segmentsOf(window));
  return reportOf(scope, window, rows);
}

/** Whole days from day records, whole hours at the ragged ends from hour records, then minutes, the rest by the second. */
export function segmentsOf({ startSeconds, endSeconds }: UsageWindow): UsageSegment[] {
  const segments: UsageSegment[] = [];
  addParts(segments, widths, startSeconds, endSeconds);
  return segments;
}

/** The middle by the coarsest width, the ragged ends by the finer ones. */
function addParts(
  segments: UsageSegment[],
  [width, ...finer]: readonly UsageWidth[],
  fromSeconds: number,
  toSeconds: number,
): void {
  if (width === undefined || fromSeconds >= toSeconds) return;
  const first = roundUp(fromSeconds, widthsSeconds[width]);
  const last = roundDown(toSeconds, widthsSeconds[width]);
  if (first >= last) {
    addParts(segments, finer, fromSeconds, toSeconds);
    return;
  }
  addParts(segments, finer, fromSeconds, first);
  segments.push({ width, fromSeconds: first, toSeconds: last });
  addParts(segments, finer, last, toSeconds);
}

export interface UsageFigures {
  readonly requests: number;
  readonly failed_requests: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_read_tokens: number;
  readonly cache_write_tokens: number;
  readonly usage_value_micros_usd: number;
  readonly charged_micros_usd: number;
}

export interface UsageByDay {
  readonly totals: UsageFigures;
  readonly buckets: readonly (UsageFigures & { readonly start_time: number; readonly end_time: number })[];
}

export interface UsageReport extends UsageByDay {
  readonly scope: "key" | "account";
  readonly currency: "USD";
  readonly start_time: number;
  readonly end_time: number;
  readonly bucket_width: "1d";
}

const reportOf = (scope: UsageScope, window: UsageWindow, rows: readonly DaySums[]): UsageReport => ({
  scope: scope.keyId === undefined ? "account" : "key",
  currency: "USD",
  start_time: window.startSeconds,
  end_time: window.endSeconds,
  bucket_width: "1d",
  ...usageByDay(window, rows),
});

/** Every day of the window, also those that have no usage. */
export function usageByDay(window: UsageWindow, rows: readonly DaySums[]): UsageByDay {
  const byDay = new Map<number, UsageSums>();
  for (const row of rows) byDay.set(row.daySeconds, addSums(byDay.get(row.daySeconds) ?? noUsage, row));

  let totals = noUsage;
  const buckets: UsageByDay["buckets"][number][] = [];
  for (let day = dayStartSeconds(window.startSeconds); day < window.endSeconds; day += secondsPerDay) {
    const startSeconds = Math.max(day, window.startSeconds);
    // No part of a day is in a window that ends where it starts.
    if (startSeconds === window.endSeconds) break;
    const sums = byDay.get(day) ?? noUsage;
    totals = addSums(totals, sums);
    buckets.push({
      start_time: startSeconds,
      end_time: Math.min(day + secondsPerDay, window.endSeconds),
      ...figuresOf(sums),
    });
  }
  return { totals: figuresOf(totals), buckets };
}

export const noUsage: UsageSums = {
  requests: 0,
  failedRequests: 0,
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  valueMicros: 0n,
  chargedMicros: 0n,
};

export const addSums = (a: UsageSums, b: UsageSums): UsageSums => ({
  requests: a.requests + b.requests,
  failedRequests: a.failedRequests + b.failedRequests,
  inputTokens: a.inputTokens + b.inputTokens,
  outputTokens: a.outputTokens + b.outputTokens,
  cacheReadTokens: a.cacheReadTokens + b.cacheReadTokens,
  cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
  valueMicros: a.valueMicros + b.valueMicros,
  chargedMicros: a.chargedMicros + b.chargedMicros,
});

export const figuresOf = (sums: UsageSums): UsageFigures => ({
  requests: sums.requests,
  failed_requests: sums.failedRequests,
  input_tokens: sums.inputTokens,
  output_tokens: sums.outputTokens,
  cache_read_tokens: sums.cacheReadTokens,
  cache_write_tokens: sums.cacheWriteTokens,
  usage_value_micros_usd: Number(sums.valueMicros),
  charged_micros_usd: Number(sums.chargedMicros),
});

const roundDown = (value: number, step: number): number => Math.floor(value / step) * step;
const roundUp = (value: number, step: number): number => Math.ceil(value / step) * step;
