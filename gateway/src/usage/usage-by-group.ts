import {
  addSums,
  figuresOf,
  noUsage,
  type GroupSums,
  type UsageBook,
  type UsageFigures,
  type UsageGrouping,
  type UsageScope,
  type UsageWindow,
} from "./usage-report.ts";

/** Usage, taken apart. Its totals are those of the report on the same window. */
export interface UsageByGroup {
  readonly totals: UsageFigures;
  /** The dearest first. */
  readonly groups: readonly (UsageFigures & { readonly name: string | undefined })[];
}

/** However many calls that takes to read. */
export async function readUsageByGroup(
  book: Pick<UsageBook, "sumsBy">,
  scope: UsageScope,
  by: UsageGrouping,
  window: UsageWindow,
): Promise<UsageByGroup> {
  const usage = await readUsageByGroupWithin(book, scope, by, window, Infinity);
  if (!usage) throw new Error("A reading without a limit came to one.");
  return usage;
}

/** Exactly, or undefined when more than `callsMax` calls would have to be looked at. */
export async function readUsageByGroupWithin(
  book: Pick<UsageBook, "sumsBy">,
  scope: UsageScope,
  by: UsageGrouping,
  window: UsageWindow,
  callsMax: number,
): Promise<UsageByGroup | undefined> {
  const groups = await book.sumsBy(scope, by, window, callsMax);
  return groups && usageByGroup(groups);
}

export const usageByGroup = (groups: readonly GroupSums[]): UsageByGroup => ({
  totals: figuresOf(groups.reduce(addSums, noUsage)),
  groups: groups
    .map(({ name, ...sums }) => ({ name, ...figuresOf(sums) }))
    .toSorted(
      (a, b) =>
        b.charged_micros_usd - a.charged_micros_usd ||
        b.requests - a.requests ||
        (a.name ?? "").localeCompare(b.name ?? ""),
    ),
});
