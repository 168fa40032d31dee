import { budgetWindowEndMs, budgetWindowStartMs } from "../keys/budget-window.ts";
import type { Store } from "../ledger/store.ts";
import { receiptOf } from "../ledger/receipt.ts";
import { readUsage } from "../usage/usage-report.ts";
import type { BalanceReport, Books, BudgetReport, ModelListing } from "./books.ts";
import type { Asker } from "./operation.ts";

/** Answers callers from the store. Every question carries the asker's account, so nobody sees another's books. */
export function createBooks(store: Store, models: () => readonly ModelListing[]): Books {
  return {
    usage: ({ accountId, keyId, scope }, window) =>
      readUsage(store.usage, { accountId, keyId: scope === "key" ? keyId : undefined }, window),
    balance: (asker) => readBalance(store, asker),
    receipt: async ({ accountId }, requestId) => {
      const call = await store.calls.find(accountId, requestId);
      return call && receiptOf(call);
    },
    receipts: async ({ accountId }, filter) => {
      // One more than asked for tells whether there is a next page.
      const calls = await store.calls.list(accountId, { ...filter, limit: filter.limit + 1 });
      const page = calls.slice(0, filter.limit);
      const hasMore = calls.length > filter.limit;
      return {
        object: "list",
        data: page.map(receiptOf),
        has_more: hasMore,
        next_cursor: hasMore ? (page.at(-1)?.id ?? null) : null,
      };
    },
    models,
  };
}

async function readBalance(store: Store, asker: Asker): Promise<BalanceReport> {
  const account = await store.accounts.find(asker.accountId);
  if (!account) throw new Error("A credential names an account that is not there.");
  return {
    currency: "USD",
    balance_micros_usd: Number(account.postedMicros),
    held_micros_usd: Number(account.heldMicros),
    available_micros_usd: Number(account.postedMicros - account.heldMicros),
    budget: await readBudget(store, asker),
  };
}

async function readBudget(store: Store, { budget, keyId, nowMs }: Asker): Promise<BudgetReport | null> {
  if (!budget) return null;
  const use = await store.keys.budgetUse(keyId, budgetWindowStartMs(budget.window, nowMs));
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
