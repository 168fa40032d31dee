import { isInputRequiredResult, type InputRequiredResult } from "@modelcontextprotocol/server";
import type { ApprovalClaim } from "../../../approvals/approvals.ts";
import { approvalUsed } from "../../../call/refusals/refuse-unapproved.ts";
import { originalOf } from "../../../ledger/refuse-earlier.ts";
import { capMicrosFromNumber } from "../../../platform/money.ts";
import { CallRefused } from "../../../platform/refusals.ts";
import { approvalItems, callDigest } from "../approval/approval-item.ts";
import { askApproval, readStanding } from "../approval/ask-approval.ts";
import { type AgentOutcome, runOperation } from "../calls/run-operation.ts";
import { keyUnder, onceOf } from "./once-key.ts";
import { toolError } from "./tool-errors.ts";
import type { ApprovalHandle, UseArguments, UseResult } from "./tool-shapes.ts";
import type { ToolParts, Visit } from "../visit.ts";

/** Runs one operation. What the spend policy does not cover is asked for first, and paid for once. */
export async function useOperation(
  given: UseArguments,
  visit: Visit,
  parts: ToolParts,
): Promise<UseResult | InputRequiredResult> {
  const capMicros = capMicrosFromNumber(given.max_price_usd);
  const digest = callDigest("use", given, capMicros);
  const question = Buffer.from(digest).toString("base64url");
  const standing = await readStanding(visit, { approvalId: given.approval_id, digest: question }, parts);
  if (standing.kind === "refused") return refusedCall(given, standing.refusal);
  if (standing.kind === "waiting") return approvalRequired(given, standing.approval);

  // A caller who left while a person was asked wants nothing any more. After dispatch leaving changes nothing.
  if (visit.ctx.mcpReq.signal.aborted)
    return refusedCall(given, new CallRefused("request_timeout", "Cancelled."));

  const claim = standing.kind === "claimable" ? { id: standing.approval.id, digest } : undefined;
  const once = onceOf(given, visit, claim);
  const { presented, caller, known, offer, images } = visit;
  const ended = await runOperation(
    {
      call: given,
      presented,
      caller,
      known,
      offer,
      capMicros,
      idempotencyKey: given.idempotency_key,
      ...(once && given.idempotency_key === undefined ? keyUnder(once, question) : {}),
      autoApproveMicros: parts.settings().autoApproveMicros,
      claim,
      images,
    },
    parts,
  );
  if (claim) return tellFirstUse(given, ended, claim, visit, parts);
  if (ended.refusal?.code !== "approval_required") return ended.told;

  const cost = ended.cost ?? { expectedMicros: capMicros, atMostMicros: capMicros };
  const items = approvalItems([{ call: given, digest, cost }]);
  const asked = await askApproval({ items, digest: question }, visit, parts);
  return isInputRequiredResult(asked) ? asked : approvalRequired(given, asked, ended.told.estimate_usd);
}

/**
 * A repeated approved call, whose first answer was lost, is answered with the call that was made, whatever this one is
 * refused for: told only that nothing was charged, an agent would ask its person again and buy it twice. An agent that
 * brought no idempotency key does not hear of the one that we made.
 */
async function tellFirstUse(
  given: UseArguments,
  { told, refusal }: AgentOutcome,
  claim: ApprovalClaim,
  { caller: { accountId } }: Visit,
  { approvals, calls }: ToolParts,
): Promise<UseResult> {
  const isRepetition = refusal?.details.beside?.original !== undefined;
  if (told.status !== "refused" || (isRepetition && given.idempotency_key !== undefined)) return told;
  const approval = await approvals.find(claim.id, accountId);
  const item = approval?.items.find(({ digest }) => Buffer.compare(digest, claim.digest) === 0);
  const first = item?.callId === undefined ? undefined : await calls.find(accountId, item.callId);
  // The store may not have said that it took this very call, which then gives the approval back.
  if (!first || (first.id === told.request_id && !isRepetition)) return told;
  const original = originalOf({ ...first, callId: first.id });
  const used = new CallRefused("approval_required", approvalUsed, { beside: { original } });
  return { ...told, request_id: first.id, error: toolError(used, "no") };
}

export function refusedCall(
  { operation_id, max_price_usd }: Pick<UseArguments, "operation_id" | "max_price_usd">,
  refusal: CallRefused,
): UseResult {
  return { status: "refused", operation_id, max_price_usd, error: toolError(refusal, "no") };
}

export function approvalRequired(
  { operation_id, max_price_usd }: Pick<UseArguments, "operation_id" | "max_price_usd">,
  approval: ApprovalHandle,
  estimate?: number,
): UseResult {
  return {
    status: "approval_required",
    operation_id,
    max_price_usd,
    ...(estimate === undefined ? {} : { estimate_usd: estimate }),
    approval,
    error: {
      code: "approval_required",
      message:
        `This may cost more than what is allowed without asking. Show the user ${approval.url}; ` +
        "when they approved, repeat the call unchanged with approval_id. Nothing was charged.",
      retryable: false,
      charged: "no",
    },
  };
}
