import {
  addSums,
  figuresOf,
  noUsage,
  type UsageBook,
  type UsageFigures,
  type UsageGrouping,
  type UsageWindow,
} from "./usage-report.ts";

/** The usage of an account, taken apart. Its totals are those of the report on the same window. */
export interface UsageByGroup {
  readonly totals: UsageFigures;
  /** The dearest first. */
  readonly groups: readonly (UsageFigures & { readonly name: string | undefined })[];
}

export async function readUsageByGroup(
  book: Pick<UsageBook, "sumsBy">,
  accountId: string,
  by: UsageGrouping,
  window: UsageWindow,
): Promise<UsageByGroup> {
  const groups = await book.sumsBy(accountId, by, window);
  return {
    totals: figuresOf(groups.reduce(addSums, noUsage)),
    groups: groups
      .map(({ name, ...sums }) => ({ name, ...figuresOf(sums) }))
      .toSorted(
        (a, b) =>
          b.charged_micros_usd - a.charged_micros_usd ||
          b.requests - a.requests ||
          (a.name ?? "").localeCompare(b.name ?? ""),
      ),
  };
}
