import { isInputRequiredResult, type InputRequiredResult } from "@modelcontextprotocol/server";
import type { Approval } from "../../../approvals/approvals.ts";
import { checkApproval } from "../../../approvals/check-approval.ts";
import { checkPayable } from "../../../call/refusals/check-payable.ts";
import { coveredFor } from "../../../call/covered-micros.ts";
import { refuseUnapproved } from "../../../call/refusals/refuse-unapproved.ts";
import { hashIdempotencyKey } from "../../../ledger/idempotency-key.ts";
import type { Offer } from "../../../offer/offer.ts";
import { capMicrosFromNumber, type Micros } from "../../../platform/money.ts";
import { CallRefused, refuse } from "../../../platform/refusals.ts";
import type { AgentCall } from "../calls/agent-call.ts";
import { approvalItems, type AskedCall, callDigest } from "../approval/approval-item.ts";
import { askApproval, readStanding } from "../approval/ask-approval.ts";
import { asking, nothingRan, summarize, tooDear } from "./batch-result.ts";
import { fairShare, jsonBytes } from "../calls/fit-result.ts";
import { resultBytesMax, shortenResult } from "../calls/read-answer.ts";
import { type Cost, quoteOperation, runOperation } from "../calls/run-operation.ts";
import { keyUnder, onceOf, type Once } from "./once-key.ts";
import type { BatchArguments, BatchResult, UseResult } from "./tool-shapes.ts";
import { caughtRefusal } from "../caught-refusal.ts";
import type { ToolParts, Visit } from "../visit.ts";

interface PlannedCall {
  readonly wanted: AgentCall;
  readonly digest: Uint8Array;
  /** What it costs, where that had to be known before it runs; undefined for a call that will be refused. */
  readonly cost: Cost;
  /** It may cost more than the policy covers. */
  readonly uncovered: boolean;
}

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
  const planned = await plan(given, visit, parts);
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
  return summarize(given, shareRoom(await runInOrder(given, planned, under, visit, parts)));
}

const capsOf = ({ calls }: BatchArguments): Micros =>
  calls.reduce((sum, call) => sum + capMicrosFromNumber(call.max_price_usd), 0n);

/** The most the batch may spend. */
const totalOf = (given: BatchArguments): Micros =>
  given.max_total_price_usd === undefined ? capsOf(given) : capMicrosFromNumber(given.max_total_price_usd);

/**
 * Says for each call what it is, what it may cost and whether it needs a person. Where all caps fit the total and none is
 * above the policy, nothing is priced: no price could change anything.
 */
async function plan(given: BatchArguments, visit: Visit, parts: ToolParts): Promise<PlannedCall[]> {
  const { presented, caller, known, offer, images } = visit;
  const { autoApproveMicros } = parts.settings();
  const coveredMicros = coveredFor(caller, autoApproveMicros);
  const fitsAnyway =
    capsOf(given) <= totalOf(given) &&
    given.calls.every(
      (call) => isFree(call, offer) || capMicrosFromNumber(call.max_price_usd) <= coveredMicros,
    );
  const planned: PlannedCall[] = [];
  for (const [index, call] of given.calls.entries()) {
    const capMicros = capMicrosFromNumber(call.max_price_usd);
    const wanted: AgentCall = {
      call,
      presented,
      caller,
      known,
      offer,
      capMicros,
      idempotencyKey: call.idempotency_key,
      autoApproveMicros,
      claim: undefined,
      images,
    };
    const quoted = fitsAnyway || isFree(call, offer) ? nothing : await quoteOperation(wanted, parts);
    // What cannot be priced will be refused when its turn comes, and what is above its cap too: neither needs a person
    // or a part of the total.
    const cost = quoted instanceof CallRefused || quoted.atMostMicros > capMicros ? nothing : quoted;
    planned.push({
      wanted,
      digest: callDigest(`batch ${index}`, call, capMicros),
      cost,
      uncovered: cost.atMostMicros > coveredMicros,
    });
  }
  return planned;
}

const isFree = (call: BatchArguments["calls"][number], offer: Offer): boolean =>
  offer.operations.get(call.operation_id)?.operation.price.kind === "free";

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

const nothing: Cost = { expectedMicros: 0n, atMostMicros: 0n };

function digestOf(planned: readonly PlannedCall[]): string {
  const hash = new Bun.CryptoHasher("sha256");
  for (const { digest } of planned) hash.update(digest);
  return hash.digest("base64url");
}

async function runInOrder(
  given: BatchArguments,
  planned: readonly PlannedCall[],
  { approvalId, once }: { readonly approvalId: string | undefined; readonly once: Once | undefined },
  visit: Visit,
  parts: ToolParts,
): Promise<(UseResult | undefined)[]> {
  // Prices may change while the batch runs; more than the total is not spent even then.
  let leftMicros = totalOf(given);
  let stopped = false;
  const results: (UseResult | undefined)[] = [];
  for (const [index, { wanted, digest, uncovered }] of planned.entries()) {
    // A caller who has left wants nothing more; what already ran is booked and stays so.
    if (stopped || visit.ctx.mcpReq.signal.aborted) {
      results.push(undefined);
      continue;
    }
    const fits = wanted.capMicros <= leftMicros;
    const { told } = await runOperation(
      {
        ...wanted,
        capMicros: fits ? wanted.capMicros : leftMicros,
        claim: approvalId !== undefined && uncovered ? { id: approvalId, digest } : undefined,
        ...(once && wanted.idempotencyKey === undefined ? keyUnder(once, index) : {}),
      },
      parts,
    );
    leftMicros -= exposureOf(told);
    results.push(told);
    stopped = given.stop_on_error === true && told.error !== undefined;
  }
  return results;
}

/** What a call took of the total: what it cost, or the most it can still cost where that is not known yet. */
function exposureOf({
  status,
  error,
  settled_micros_usd: settled,
  estimate_usd: most = 0,
}: UseResult): Micros {
  if (settled !== undefined) return BigInt(settled);
  return status === "accepted" || error?.charged === "unknown" ? capMicrosFromNumber(most) : 0n;
}

/** A batch is one message, and has the room of one: long results are shortened to what the short ones leave. */
function shareRoom(ran: readonly (UseResult | undefined)[]): (UseResult | undefined)[] {
  const sizes = ran.flatMap((told) => (told?.result ? [jsonBytes(told.result)] : []));
  const share = fairShare(sizes, resultBytesMax);
  return ran.map((told) => {
    if (!told?.result) return told;
    const result = shortenResult(told.result, share);
    return result === told.result ? told : { ...told, result, truncated: true };
  });
}
