import { isInputRequiredResult, type InputRequiredResult } from "@modelcontextprotocol/server";
import type { Approval } from "../../../approvals/approvals.ts";
import { checkApproval } from "../../../approvals/check-approval.ts";
import { checkPayable } from "../../../call/refusals/check-payable.ts";
import { refuseUnapproved } from "../../../call/refusals/refuse-unapproved.ts";
import { hashIdempotencyKey } from "../../../ledger/idempotency-key.ts";
import { refuse } from "../../../platform/refusals.ts";
import { approvalItems, type AskedCall } from "../approval/approval-item.ts";
import { askApproval, readStanding } from "../approval/ask-approval.ts";
import { caughtRefusal } from "../caught-refusal.ts";
import type { ToolParts, Visit } from "../visit.ts";
import { asking, nothingRan, summarize, tooDear } from "./batch-result.ts";
import { keyUnder, onceOf, type Once } from "./once-key.ts";
import { digestOf, planBatch, totalOf } from "./plan-batch.ts";
import { runBatch } from "./run-batch.ts";
import type { BatchArguments, BatchResult } from "./tool-shapes.ts";

/**
 * Runs calls one after the other, each like a `use` of its own. When together they may cost more than the total, none
 * of them runs. Whatever needs a person is asked for once, before anything runs: a batch that had to be repeated
 * because of its third call would otherwise pay twice for the first two.
 */
export async function useBatch(
  given: BatchArguments,
  visit: Visit,
  parts: ToolParts,
): Promise<BatchResult | InputRequiredResult> {
  const planned = await planBatch(given, visit, parts);
  const togetherMicros = planned.reduce((sum, { cost }) => sum + cost.atMostMicros, 0n);
  const totalMicros = totalOf(given);
  if (togetherMicros > totalMicros) return tooDear(given, { togetherMicros, totalMicros });

  const question = digestOf(planned);
  const standing = await readStanding(visit, { approvalId: given.approval_id, digest: question }, parts);
  if (standing.kind === "refused") return nothingRan(given, standing.refusal);
  if (standing.kind === "waiting") return asking(given, standing.approval);

  const uncovered = planned.flatMap(({ wanted: { call }, digest, cost, uncovered: asks }): AskedCall[] =>
    asks ? [{ call, digest, cost }] : [],
  );
  const approval = standing.kind === "claimable" ? standing.approval : undefined;
  const once = onceOf(given, visit, approval);
  const hasRun = once !== undefined && (await ranBefore(given, once, visit, parts));
  if (uncovered.length > 0 && !approval && !hasRun) {
    // Nobody is asked to allow what cannot happen.
    const unpayable = await caughtRefusal(() => checkPayable(visit.caller, togetherMicros, parts.gate));
    if (unpayable) return nothingRan(given, unpayable);
    const asked = await askApproval({ items: approvalItems(uncovered), digest: question }, visit, parts);
    return isInputRequiredResult(asked) ? asked : asking(given, asked);
  }
  const unapproved =
    approval && (await caughtRefusal(() => checkApproved({ uncovered, hasRun }, approval, visit, parts)));
  if (unapproved) return nothingRan(given, unapproved);
  // A batch may take longer than its first calls are kept: as long as any of them is, none of them is bought again.
  const under = { approvalId: approval?.id, once: hasRun ? { name: once.name } : once };
  return summarize(given, await runBatch(given, planned, under, visit, parts));
}

/**
 * Refuses a batch for which the approval that it brought does not do. The ledger asks the same of each call when its turn
 * comes, but by then those before it are paid for, and are paid for again under the next approval.
 */
function checkApproved(
  { uncovered, hasRun }: { readonly uncovered: readonly AskedCall[]; readonly hasRun: boolean },
  approval: Approval,
  visit: Visit,
  parts: ToolParts,
): void {
  const { accountId, keyId, grant } = visit.caller;
  const caller = { accountId, keyId, grantId: grant?.id, nowMs: parts.gate.clock.wallMs() };
  for (const { digest, cost } of uncovered) {
    const use = { ...caller, amountMicros: cost.atMostMicros };
    const denial = checkApproval(approval, { id: approval.id, digest }, use);
    // A call that has used it is one that is played back. Its turn comes, and it is told so.
    if (denial === undefined || denial === "used") continue;
    const hasBegun = approval.items.some(({ callId }) => callId !== undefined);
    if (hasBegun || hasRun) refuse("approval_required", begunBefore);
    refuseUnapproved(denial, cost.atMostMicros, undefined);
  }
}

/**
 * A call that was covered has no item of an approval, so the key that it ran under is looked for. One that brought a key of
 * its own is not bought again under that.
 */
async function ranBefore(
  { calls }: BatchArguments,
  once: Once,
  { caller: { accountId } }: Visit,
  { gate: { ledger, clock } }: ToolParts,
): Promise<boolean> {
  for (const index of calls.keys()) {
    const { idempotencyKey: key, keyKeptMs: keptMs } = keyUnder(once, index);
    const claim = { keyHash: hashIdempotencyKey(key), fingerprint: anyRequest, keptMs };
    if (await ledger.findEarlier(accountId, claim, clock.wallMs())) return true;
  }
  return false;
}

/** For whoever asks only whether a key is taken. */
const anyRequest = new Uint8Array();

/** Points to the receipts: an agent that heard only "ask again" would ask for the whole batch, and pay twice for what ran. */
const begunBefore =
  "Some of these calls ran under this approval before, and it does not allow the others any more. Look at the receipts " +
  "(requests.list), and ask again only for what is missing.";
