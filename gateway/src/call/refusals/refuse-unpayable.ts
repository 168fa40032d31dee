import type { BudgetUse, BudgetWindow } from "../../keys/keys.ts";
import type { HoldResult } from "../../ledger/ledger.ts";
import { refuseSuspended } from "../../ledger/refuse-suspended.ts";
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
  { atMostMicros, named, whatHelps = () => "" }: Bill,
  { spentMicros, heldMicros }: BudgetUse,
  bound: Bound,
): never {
  const leftMicros = bound.limitMicros - spentMicros - heldMicros;
  return refuse(
    "budget_exceeded",
    `${named} may cost ${usdFromMicros(atMostMicros)} USD; of ${bound.named}, ${usdFromMicros(spentMicros)} USD are ` +
      `spent and ${usdFromMicros(heldMicros)} USD held by running calls.${whatHelps(leftMicros)}`,
    {
      retryable: false,
      inError: {
        ...amounts(atMostMicros, bound.limitMicros),
        window: bound.window,
        spent_micros_usd: Number(spentMicros),
        held_micros_usd: Number(heldMicros),
      },
    },
  );
}

export const amounts = (estimatedMicros: Micros, limitMicros: Micros) => ({
  estimated_micros_usd: Number(estimatedMicros),
  limit_micros_usd: Number(limitMicros),
});
