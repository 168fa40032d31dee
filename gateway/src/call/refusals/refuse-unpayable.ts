import { budgetWindowEndMs } from "../../keys/budget-window.ts";
import type { BudgetUse, BudgetWindow } from "../../keys/keys.ts";
import type { HoldResult } from "../../ledger/ledger.ts";
import { refuseSuspended } from "../../ledger/refuse-suspended.ts";
import { dayAndMinute } from "../../platform/clock.ts";
import { usdFromMicros, type Micros } from "../../platform/money.ts";
import { refuse } from "../../platform/refusals.ts";

const kinds = [
  "account_suspended",
  "insufficient_balance",
  "budget_exceeded",
  "grant_ended",
  "grant_day_exceeded",
] as const;

/** Reasons against a hold that lie with whoever pays, not with the call. */
export type Unpayable = Extract<HoldResult, { readonly kind: (typeof kinds)[number] }>;

export const isUnpayable = (result: HoldResult): result is Unpayable => unpayable.has(result.kind);

const unpayable: ReadonlySet<HoldResult["kind"]> = new Set(kinds);

/** What is to be paid, and how it is called in a sentence. */
export interface Bill {
  readonly atMostMicros: Micros;
  readonly named: "The call" | "The calls together";
  /** When it was to be held. */
  readonly atMs: number;
  /** A sentence on what a caller with this much left could do, or an empty one. */
  readonly whatHelps?: (leftMicros: Micros) => string;
}

export function refuseUnpayable(result: Unpayable, bill: Bill): never {
  const { atMostMicros, whatHelps = () => "" } = bill;
  switch (result.kind) {
    case "account_suspended":
      return refuseSuspended();
    case "budget_exceeded": {
      const { limitMicros, window } = result.budget;
      const named = `this key's ${window} budget of ${usdFromMicros(limitMicros)} USD`;
      return refuseByBound(bill, result, { limitMicros, window, named });
    }
    case "grant_ended":
      return refuse("invalid_api_key", "This access token is not valid.");
    case "grant_day_exceeded": {
      const { perDayMicros: limitMicros } = result;
      const named = `the ${usdFromMicros(limitMicros)} USD that this sign-in may spend a day`;
      return refuseByBound(bill, result, { limitMicros, window: "day", named });
    }
    case "insufficient_balance":
      return refuse(
        "insufficient_balance",
        `${bill.named} may cost ${usdFromMicros(atMostMicros)} USD; ` +
          `${usdFromMicros(result.availableMicros)} USD are available.` +
          whatHelps(result.availableMicros),
        { retryable: false, inError: amounts(atMostMicros, result.availableMicros) },
      );
  }
}

interface Bound {
  readonly limitMicros: Micros;
  readonly window: BudgetWindow;
  readonly named: string;
}

function refuseByBound(
  { atMostMicros, named, atMs, whatHelps = () => "" }: Bill,
  { spentMicros, heldMicros }: BudgetUse,
  bound: Bound,
): never {
  const leftMicros = bound.limitMicros - spentMicros - heldMicros;
  const endMs = budgetWindowEndMs(bound.window, atMs);
  // What is more than the whole limit does not fit then either.
  const when =
    endMs === undefined || atMostMicros > bound.limitMicros
      ? ""
      : ` It begins anew at ${dayAndMinute(endMs)}.`;
  return refuse(
    "budget_exceeded",
    `${named} may cost ${usdFromMicros(atMostMicros)} USD; of ${bound.named}, ${usdFromMicros(spentMicros)} USD are ` +
      `spent and ${usdFromMicros(heldMicros)} USD held by running calls.${when}${whatHelps(leftMicros)}`,
    {
      retryable: false,
      inError: {
        ...amounts(atMostMicros, bound.limitMicros),
        window: bound.window,
        spent_micros_usd: Number(spentMicros),
        held_micros_usd: Number(heldMicros),
        resets_at: endMs === undefined ? null : endMs / 1000,
      },
    },
  );
}

export const amounts = (estimatedMicros: Micros, limitMicros: Micros) => ({
  estimated_micros_usd: Number(estimatedMicros),
  limit_micros_usd: Number(limitMicros),
});
