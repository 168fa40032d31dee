// What all accounts used together: what the operator sold.

import { usageByGroup, type UsageByGroup } from "./usage-by-group.ts";
import {
  segmentsOf,
  usageByDay,
  type UsageBook,
  type UsageByDay,
  type UsageWindow,
  type WholeUsageGrouping,
} from "./usage-report.ts";

export const readWholeUsage = async (
  book: Pick<UsageBook, "wholeSums">,
  window: UsageWindow,
): Promise<UsageByDay> => usageByDay(window, await book.wholeSums(segmentsOf(window)));

export const readWholeUsageByGroup = async (
  book: Pick<UsageBook, "wholeSumsBy">,
  by: WholeUsageGrouping,
  window: UsageWindow,
): Promise<UsageByGroup> => usageByGroup(await book.wholeSumsBy(by, window));
