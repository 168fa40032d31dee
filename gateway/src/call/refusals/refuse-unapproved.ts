import type { ApprovalDenial } from "../../approvals/approvals.ts";
import { usdFromMicros, type Micros } from "../../platform/money.ts";
import { refuse } from "../../platform/refusals.ts";

/** The call may cost more than is allowed without a person, and brings no approval that helps. */
export function refuseUnapproved(
  reason: "uncovered" | ApprovalDenial,
  atMostMicros: Micros,
  covered: Micros | undefined,
): never {
  refuse("approval_required", sentences[reason](atMostMicros, covered), {
    retryable: false,
    inError: {
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
