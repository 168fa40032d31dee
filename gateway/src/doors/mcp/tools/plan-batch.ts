import { coveredFor } from "../../../call/covered-micros.ts";
import type { Offer } from "../../../offer/offer.ts";
import { capMicrosFromNumber, type Micros } from "../../../platform/money.ts";
import { CallRefused } from "../../../platform/refusals.ts";
import { callDigest } from "../approval/approval-item.ts";
import type { AgentCall } from "../calls/agent-call.ts";
import { type Cost, quoteOperation } from "../calls/run-operation.ts";
import type { ToolParts, Visit } from "../visit.ts";
import type { BatchArguments } from "./tool-shapes.ts";

/** A call of a batch, before any of them runs. */
export interface PlannedCall {
  readonly wanted: AgentCall;
  readonly digest: Uint8Array;
  /** What it costs, where that has to be known before it runs; nothing for a call that will be refused. */
  readonly cost: Cost;
  /** It may cost more than the policy allows without a person. */
  readonly isUncovered: boolean;
}

/**
 * Says for each call what it is, what it may cost and whether it needs a person. Where all caps fit the total and none is
 * above the policy, nothing is priced: no price could change anything.
 */
export async function planBatch(
  given: BatchArguments,
  visit: Visit,
  parts: ToolParts,
): Promise<PlannedCall[]> {
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
    const cost = fitsAnyway || isFree(call, offer) ? nothing : await costWithinCap(wanted, parts);
    planned.push({
      wanted,
      digest: callDigest(`batch ${index}`, call, capMicros),
      cost,
      isUncovered: cost.atMostMicros > coveredMicros,
    });
  }
  return planned;
}

const isFree = (call: BatchArguments["calls"][number], offer: Offer): boolean =>
  offer.operations.get(call.operation_id)?.operation.price.kind === "free";

/**
 * A call that cannot be priced will be refused when its turn comes, and so will one above its cap: neither needs a person, or
 * a part of the total.
 */
async function costWithinCap(wanted: AgentCall, parts: ToolParts): Promise<Cost> {
  const quoted = await quoteOperation(wanted, parts);
  return quoted instanceof CallRefused || quoted.atMostMicros > wanted.capMicros ? nothing : quoted;
}

const nothing: Cost = { expectedMicros: 0n, atMostMicros: 0n };

const capsOf = ({ calls }: BatchArguments): Micros =>
  calls.reduce((sum, call) => sum + capMicrosFromNumber(call.max_price_usd), 0n);

/** The most the batch may spend. */
export const totalOf = (given: BatchArguments): Micros =>
  given.max_total_price_usd === undefined ? capsOf(given) : capMicrosFromNumber(given.max_total_price_usd);

/** Names what a person says yes to: exactly these calls, in this order. */
export function digestOf(planned: readonly PlannedCall[]): string {
  const hash = new Bun.CryptoHasher("sha256");
  for (const { digest } of planned) hash.update(digest);
  return hash.digest("base64url");
}
