import type { UsageSource } from "../../ledger/call-record.ts";
import type { Quantities } from "../../prices/quantities.ts";

/** What the evidence says was delivered. Only what was delivered is paid for. */
export type Metered =
  | {
      readonly kind: "delivered";
      readonly used: Quantities;
      readonly source: Exclude<UsageSource, "none">;
      /** False when the upstream never came to the end of its answer: what passed is paid for, but the call did not succeed. */
      readonly whole: boolean;
    }
  | { readonly kind: "nothing" }
  /** Nobody can tell whether the upstream did the work. */
  | { readonly kind: "in_doubt" };

export const nothing: Metered = { kind: "nothing" };
export const inDoubt: Metered = { kind: "in_doubt" };

/** What was delivered of an answer that broke off. */
export const brokenOff = (metered: Metered): Metered =>
  metered.kind === "delivered" ? { ...metered, whole: false } : metered;
