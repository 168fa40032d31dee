// What an access token may do: its scope, and what is covered without asking. How much it may spend is kept by the ledger, in
// the transaction that holds the money.

import type { ApprovalDenial } from "../../approvals/approvals.ts";
import type { Credential } from "../../keys/keys.ts";
import { changesFreely, type Operation } from "../../operation/operation.ts";
import { usdFromMicros, type Micros } from "../../platform/money.ts";
import { refuse } from "../../platform/refusals.ts";
import type { Call } from "../call.ts";

/** A key may spend by being a key; an access token only when the person who signed in said so. */
export function checkMaySpend({ grant }: Credential): void {
  if (!grant || grant.scopes.includes("tools:spend")) return;
  refuse(
    "insufficient_scope",
    "This access token may read, not spend or change anything; sign in again and allow tools:spend.",
    {
      inError: { required_scopes: ["tools:read", "tools:spend"] },
    },
  );
}

/** What is free can still undo paid work or act for the account: whoever was allowed to read may not do it. */
export function checkMayChange(operation: Operation, caller: Credential): void {
  if (changesFreely(operation)) checkMaySpend(caller);
}

/** The most a call may hold without a person's approval; undefined when nothing limits it. */
export const coveredMicros = ({ approval }: Call, caller: Credential): Micros | undefined =>
  coveredFor(caller, approval?.coveredMicros);

/** A grant's own figure stands in place of the door's: a person set it on the consent page. */
export const coveredFor = <OfDoor extends Micros | undefined>(
  { grant }: Credential,
  ofDoor: OfDoor,
): Micros | OfDoor => (grant ? grant.spendPolicy.perCallMicros : ofDoor);

export function refuseUnapproved(
  reason: "uncovered" | ApprovalDenial,
  atMostMicros: Micros,
  covered: Micros | undefined,
): never {
  refuse("approval_required", sentences[reason](atMostMicros, covered), {
    inError: {
      retryable: false,
      reason,
      estimated_micros_usd: Number(atMostMicros),
      ...(covered === undefined ? {} : { covered_micros_usd: Number(covered) }),
    },
  });
}

export const approvalUsed = "The approval was used already; it allows one call. Nothing more was spent.";

const sentences: Record<
  "uncovered" | ApprovalDenial,
  (atMost: Micros, covered: Micros | undefined) => string
> = {
  uncovered: (atMost, covered) =>
    `The call may cost ${usdFromMicros(atMost)} USD; up to ${usdFromMicros(covered ?? 0n)} USD are covered ` +
    "without a person's approval. Nothing was spent.",
  unknown: () => "There is no such approval for this call. Nothing was spent.",
  undecided: () => "The approval has not been given yet. Nothing was spent.",
  denied: () => "The approval was denied. Nothing was spent.",
  expired: () => "The approval has expired; ask again. Nothing was spent.",
  used: () => approvalUsed,
  too_small: (atMost) =>
    `The call may cost ${usdFromMicros(atMost)} USD, more than was approved. Nothing was spent.`,
};
