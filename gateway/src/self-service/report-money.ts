import { budgetWindowEndMs, budgetWindowStartMs } from "../keys/budget-window.ts";
import type { Budget, BudgetUse } from "../keys/keys.ts";
import type { Asker } from "../operation/asker.ts";
import type { BalanceReport, BudgetReport } from "../operation/self-service.ts";
import type { Store } from "../store/store.ts";

export async function reportBalance(asker: Asker, store: Store): Promise<BalanceReport> {
  const account = await store.accounts.find(asker.accountId);
  if (!account) throw new Error("A credential names an account that is not there.");
  return {
    currency: "USD",
    balance_micros_usd: Number(account.postedMicros),
    held_micros_usd: Number(account.heldMicros),
    available_micros_usd: Number(account.postedMicros - account.heldMicros),
    budget: await reportBudget(asker, store),
  };
}

export async function reportBudget(
  { budget, keyId, nowMs }: Asker,
  store: Store,
): Promise<BudgetReport | null> {
  if (!budget) return null;
  const use = await store.keys.budgetUse(keyId, budget.window, nowMs);
  return budgetReport(budget, use, nowMs);
}

/** The bound that a person set at sign-in holds beside the budget of the key they signed in with. */
export async function reportSignInBudget(
  { grant, nowMs }: Asker,
  store: Store,
): Promise<BudgetReport | null> {
  if (!grant) return null;
  const budget: Budget = { window: "day", limitMicros: grant.spendPolicy.perDayMicros };
  const use = await store.grants.dayUse(grant.id, budgetWindowStartMs(budget.window, nowMs));
  return budgetReport(budget, use, nowMs);
}

function budgetReport(budget: Budget, use: BudgetUse, nowMs: number): BudgetReport {
  const remaining = budget.limitMicros - use.spentMicros - use.heldMicros;
  const endMs = budgetWindowEndMs(budget.window, nowMs);
  return {
    window: budget.window,
    limit_micros_usd: Number(budget.limitMicros),
    spent_micros_usd: Number(use.spentMicros),
    held_micros_usd: Number(use.heldMicros),
    remaining_micros_usd: Number(remaining > 0n ? remaining : 0n),
    resets_at: endMs === undefined ? null : endMs / 1000,
  };
}
