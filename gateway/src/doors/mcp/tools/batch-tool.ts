import { isInputRequiredResult, type InputRequiredResult } from "@modelcontextprotocol/server";
import { checkPayable } from "../../../call/refusals/check-payable.ts";
import type { Micros } from "../../../platform/money.ts";
import { approvalItems } from "../approval/approval-item.ts";
import { askApproval, readStanding } from "../approval/ask-approval.ts";
import { caughtRefusal } from "../caught-refusal.ts";
import type { ToolParts, Visit } from "../visit.ts";
import { asking, nothingRan, summarize, tooDear } from "./batch-result.ts";
import { checkBatchApproval } from "./check-batch-approval.ts";
import { hasRunBefore, onceOf } from "./once-key.ts";
import { digestOf, planBatch, totalOf, type PlannedCall } from "./plan-batch.ts";
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

  const uncovered = planned.filter(({ isUncovered }) => isUncovered);
  const approval = standing.kind === "claimable" ? standing.approval : undefined;
  const once = onceOf(given, visit, approval);
  const hasRun = once !== undefined && (await hasRunBefore(once, given.calls.length, visit, parts));
  if (approval) {
    const unapproved = await caughtRefusal(() =>
      checkBatchApproval({ uncovered, hasRun }, approval, visit, parts),
    );
    if (unapproved) return nothingRan(given, unapproved);
  } else if (uncovered.length > 0 && !hasRun) {
    return askForBatch(given, { uncovered, togetherMicros, question }, visit, parts);
  }
  // A batch may take longer than its first calls are remembered. As long as any of them is, the keys of all of them count for
  // a day, so that none is bought again.
  const under = { approvalId: approval?.id, once: hasRun ? { name: once.name } : once };
  return summarize(given, await runBatch(given, planned, under, visit, parts));
}

interface BatchQuestion {
  readonly uncovered: readonly PlannedCall[];
  readonly togetherMicros: Micros;
  readonly question: string;
}

/** Asks for all that needs a person at once. Nobody is asked to allow what the account could not pay. */
async function askForBatch(
  given: BatchArguments,
  { uncovered, togetherMicros, question }: BatchQuestion,
  visit: Visit,
  parts: ToolParts,
): Promise<BatchResult | InputRequiredResult> {
  const unpayable = await caughtRefusal(() => checkPayable(visit.caller, togetherMicros, parts.gate));
  if (unpayable) return nothingRan(given, unpayable);
  const items = approvalItems(
    uncovered.map(({ wanted, digest, cost }) => ({ call: wanted.call, digest, cost })),
  );
  const asked = await askApproval({ items, digest: question }, visit, parts);
  return isInputRequiredResult(asked) ? asked : asking(given, asked);
}
