import { dayMs } from "../platform/utc-day.ts";
import type { BudgetWindow } from "./keys.ts";

/** As it stands behind an amount. */
export const windowWords: Readonly<Record<BudgetWindow, string>> = {
  day: "a day",
  month: "a month",
  total: "in total",
};

/** When the window that contains `nowMs` began, in UTC. Computed from the clock, so no job has to reset anything. */
export function budgetWindowStartMs(window: BudgetWindow, nowMs: number): number {
  // Without a calendar, because every call of a key with a budget asks; days of UTC are of one length.
  if (window === "day") return Math.floor(nowMs / dayMs) * dayMs;
  if (window === "total") return 0;
  const now = new Date(nowMs);
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1);
}

/** From the start of the window that contains `nowMs` to the moment before its end. */
export interface BudgetSpan {
  readonly startMs: number;
  readonly endMs: number;
}

export const budgetSpan = (window: BudgetWindow, nowMs: number): BudgetSpan => ({
  startMs: budgetWindowStartMs(window, nowMs),
  endMs: budgetWindowEndMs(window, nowMs) ?? Number.MAX_SAFE_INTEGER,
});

/** When the next window begins; undefined for a budget that never renews. */
export function budgetWindowEndMs(window: BudgetWindow, nowMs: number): number | undefined {
  if (window === "day") return budgetWindowStartMs("day", nowMs) + dayMs;
  if (window === "total") return undefined;
  const now = new Date(nowMs);
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
}
