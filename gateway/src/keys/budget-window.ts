import type { BudgetWindow } from "./keys.ts";

/** When the window that contains `nowMs` began, in UTC. Computed from the clock, so no job has to reset anything. */
export function budgetWindowStartMs(window: BudgetWindow, nowMs: number): number {
  const now = new Date(nowMs);
  if (window === "day") return Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate());
  if (window === "month") return Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1);
  return 0;
}

/** When the next window begins; undefined for a budget that never renews. */
export function budgetWindowEndMs(window: BudgetWindow, nowMs: number): number | undefined {
  const now = new Date(nowMs);
  if (window === "day") return Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1);
  if (window === "month") return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
  return undefined;
}
