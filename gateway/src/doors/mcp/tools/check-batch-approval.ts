import type { Approval } from "../../../approvals/approvals.ts";
import { checkApproval } from "../../../approvals/check-approval.ts";
import { refuseUnapproved } from "../../../call/refusals/refuse-unapproved.ts";
import { refuse } from "../../../platform/refusals.ts";
import type { ToolParts, Visit } from "../visit.ts";
import type { PlannedCall } from "./plan-batch.ts";

/** The calls of a batch that need the approval, and whether any call of this batch has run before. */
interface ApprovedBatch {
  readonly uncovered: readonly PlannedCall[];
  readonly hasRun: boolean;
}

/**
 * Refuses a batch whose approval does not cover all of its calls. The ledger checks each call again when its turn comes, but
 * by then the calls before it are paid for, and would be paid for again under the next approval.
 */
export function checkBatchApproval(
  { uncovered, hasRun }: ApprovedBatch,
  approval: Approval,
  visit: Visit,
  parts: ToolParts,
): void {
  const { accountId, keyId, grant } = visit.caller;
  const caller = { accountId, keyId, grantId: grant?.id, nowMs: parts.gate.clock.wallMs() };
  for (const { digest, cost } of uncovered) {
    const use = { ...caller, amountMicros: cost.atMostMicros };
    const denial = checkApproval(approval, { id: approval.id, digest }, use);
    // A call that has used the approval is being repeated, and is told so when its turn comes.
    if (denial === undefined || denial === "used") continue;
    const hasBegun = approval.items.some(({ callId }) => callId !== undefined);
    if (hasBegun || hasRun) refuse("approval_required", begunBefore);
    refuseUnapproved(denial, cost.atMostMicros, undefined);
  }
}

/** Points to the receipts: an agent that heard only "ask again" would ask for the whole batch, and pay twice for what ran. */
const begunBefore =
  "Some of these calls have already run under this approval, and it no longer allows the others. Look at the receipts " +
  "(requests.list), and ask again only for what is missing.";
