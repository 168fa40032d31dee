import { dayBoundOf } from "../../grants/grants.ts";
import type { HoldRequest, HoldResult } from "../../ledger/ledger.ts";
import { NotWritten } from "../../ledger/store-errors.ts";
import { CallRefused } from "../../platform/refusals.ts";
import { taskLifeMs } from "../../tasks/task-life.ts";
import { withdraw, type Admission } from "./admit.ts";
import { nothingTried, takeBackLater } from "../later/end-later.ts";
import type { Gate } from "../gate.ts";
import type { PricedCall } from "../priced-call.ts";
import { refuseByCap, refuseHold } from "../refusals/refuse-hold.ts";
import { refuseUnbooked } from "../refusals/refuse-unbooked.ts";
import { coveredMicros } from "../covered-micros.ts";
import type { NewTask } from "../../ledger/task-record.ts";

/**
 * Takes the call's idempotency key, its budget and a durable hold on the most it can cost, all or nothing. A hold that
 * does not fit is never shrunk.
 */
export function hold(priced: PricedCall, gate: Gate): Promise<HoldResult> {
  const { price, wishes, acting } = priced;
  const { capMicros } = wishes;
  if (capMicros !== undefined && price.atMostMicros > capMicros) return refuseByCap(priced, capMicros, gate);
  if (acting?.kind === "refused") return refuseToAct(priced, acting.refusal, gate);
  return gate.ledger.hold(holdRequest(priced));
}

/**
 * Nothing is held, so everything that was taken goes back. A refusal is told as it is; where the ledger cannot answer, the
 * caller hears that nothing was done, and may try again.
 */
export async function giveUp(
  error: unknown,
  admission: Admission,
  priced: PricedCall,
  gate: Gate,
): Promise<never> {
  const { call } = priced;
  // First of all: the hold may be on disk all the same, and must not stay there, whatever else fails. Where it certainly is
  // not, a busy store is spared the write.
  if (!(error instanceof CallRefused || error instanceof NotWritten))
    takeBackLater(priced, nothingTried, gate);
  await withdraw(admission, priced, gate);
  if (error instanceof CallRefused) throw error;
  const message = "The call could not be booked, so it was not made.";
  return refuseUnbooked(error, call, { message, retryable: true }, gate);
}

/** Told last: a caller who could not pay, or has asked before, hears that first. Nothing is held or written for it. */
async function refuseToAct(priced: PricedCall, refusal: CallRefused, gate: Gate): Promise<never> {
  const held = await gate.ledger.wouldHold(holdRequest(priced));
  if (held.kind !== "held") await refuseHold(held, priced, gate);
  throw refusal;
}

/** What was asked for is also what is charged, should a success not say how long it is. */
function newTaskOf({ call, operation, price, taskId }: PricedCall): NewTask | undefined {
  if (taskId === undefined || !operation.task) return undefined;
  const { openMax } = operation.task;
  const { expected } = price.estimate;
  return { id: taskId, expected, deadlineAtMs: call.receivedAtMs + taskLifeMs, openMax };
}

function holdRequest(priced: PricedCall): HoldRequest {
  const { call, operation, price, caller, wishes } = priced;
  return {
    callId: call.id,
    accountId: caller.accountId,
    keyId: caller.keyId,
    operationId: operation.id,
    model: price.model?.id,
    amountMicros: price.atMostMicros,
    terms: price.terms,
    multiplierPpm: price.multiplierPpm,
    createdAtMs: call.receivedAtMs,
    budget: caller.budget,
    grant: caller.grant && dayBoundOf(caller.grant),
    coveredMicros: coveredMicros(call, caller),
    approval: call.approval?.claim,
    idempotency: wishes.claim,
    task: newTaskOf(priced),
  };
}
