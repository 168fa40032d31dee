import { countCharge } from "../../ledger/count-charge.ts";
import type { Resolved } from "../../ledger/ledger.ts";
import { isOfStore, NotWritten } from "../../ledger/store-errors.ts";
import { describeError } from "../../platform/log.ts";
import type { Quantities } from "../../prices/quantities.ts";
import { valuePico } from "../../prices/terms.ts";
import { type Exchanged, type ExchangedWhole, neverSent } from "../../operation/exchanged.ts";
import type { Answer } from "../call.ts";
import { keepAnswer } from "./keep-answer.ts";
import { endLater, freedBy, takeBackLater, type Tried } from "../later/end-later.ts";
import type { Attempted, AttemptedWhole } from "./forward.ts";
import type { Gate } from "../gate.ts";
import type { Metered } from "../metering/metered.ts";
import type { BookedCall } from "../priced-call.ts";
import { returnCounted } from "../limits/return-counted.ts";
import { refuseUnbooked } from "../refusals/refuse-unbooked.ts";
import { answerOfUpstream } from "../answer-of-upstream.ts";
import { writeLater } from "../later/write-later.ts";
import type { TaskEnd } from "../../ledger/task-record.ts";

/**
 * Books the end of the call, then answers. In this order: if the process dies between the two, the caller
 * never saw an answer that is not in the books.
 */
export async function settle(
  booked: BookedCall,
  attempted: AttemptedWhole,
  metered: Metered,
  gate: Gate,
): Promise<Answer> {
  const { exchanged, upstream } = attempted;
  // Together with the end, whose transaction it shares where there is one for all.
  const keeping = keepAnswer(booked, attempted, gate);
  let resolved: Resolved;
  try {
    resolved = await writeEnd(booked, attempted, metered, gate);
  } catch (error) {
    if (isSafeToRetry(exchanged)) return takeBack(error, booked, attempted, gate);
    endLater(booked.call.id, triedOf(attempted), gate);
    const isFree = error instanceof NotWritten;
    if (isFree) booked.call.known.chargedMicros = 0n;
    const message = isFree ? "The call was made but could not be booked; it is not charged." : perhapsBooked;
    return refuseUnbooked(error, booked.call, { message, retryable: false }, gate);
  }
  if (keeping) await keeping;
  countEnd(resolved, booked, attempted, gate);
  booked.call.known.chargedMicros = resolved.chargedMicros;
  if (exchanged.kind === "rate_limited") await returnCounted(booked.call, gate);
  if (exchanged.kind === "link_rejected" && attempted.linkRefusal) throw attempted.linkRefusal;
  return answerOfUpstream(asBilled(exchanged, metered), upstream, gate);
}

/** An answer that tells what is billed tells what is in the books, whatever its vendor said. */
const asBilled = (exchanged: ExchangedWhole, metered: Metered): ExchangedWhole =>
  exchanged.kind === "answered" && exchanged.asBilled ? exchanged.asBilled(usedOf(metered)) : exchanged;

const usedOf = (metered: Metered): Quantities => (metered.kind === "delivered" ? metered.used : {});

const perhapsBooked =
  "The call was made, and it is not known whether it could be booked; its receipt tells whether it was charged.";

/** The same for a stream, whose caller has its answer: should the books not take its end now, they will later. */
export async function settleStream(
  booked: BookedCall,
  attempted: Attempted,
  metered: Metered,
  gate: Gate,
): Promise<Resolved> {
  const keeping = keepAnswer(booked, attempted, gate);
  let resolved: Resolved;
  try {
    resolved = await writeEnd(booked, attempted, metered, gate);
  } catch (error) {
    settleLater(booked, attempted, metered, gate);
    const message = "The call was made but could not be booked yet; it is charged later.";
    return refuseUnbooked(error, booked.call, { message, retryable: false }, gate);
  }
  if (keeping) await keeping;
  countEnd(resolved, booked, attempted, gate);
  return resolved;
}

/**
 * A stream's caller has all of it, so its end is tried again until it is written. A stop waits for it as for a call that
 * runs, as long as the store may still take it; should the process die first, the next start charges what is noted here as
 * progress.
 */
function settleLater(booked: BookedCall, attempted: Attempted, metered: Metered, gate: Gate): void {
  const { call } = booked;
  if (metered.kind === "delivered") gate.ledger.noteProgress(call.id, metered.used);
  const done = gate.begin();
  writeLater(
    { what: "the end of a stream", about: { request_id: call.id } },
    async () => {
      let resolved: Resolved;
      try {
        resolved = await writeEnd(booked, attempted, metered, gate);
      } catch (error) {
        if (isOfStore(error)) throw error;
        // No later moment mends it: the books have lost the call, as after a fail-over, or there is a bug.
        gate.log.error("a stream cannot be settled, and ends by what was noted of it", {
          request_id: call.id,
          ...describeError(error),
        });
        resolved = await endUnsettled(call.id, attempted, metered, gate).finally(done);
      }
      done();
      countEnd(resolved, booked, attempted, gate);
      gate.log.warn("a stream was settled late", { request_id: call.id, state: resolved.state });
    },
    gate,
  );
}

/** Charges what was noted as delivered, as after a crash; a call that the books do not have is over. */
const endUnsettled = (
  callId: string,
  attempted: Attempted,
  metered: Metered,
  gate: Gate,
): Promise<Resolved> =>
  gate.ledger.release({
    callId,
    // Only where the outcome is unknown are notes charged, and not where the vendor said that nothing is owed.
    outcome: metered.kind === "nothing" ? "failed" : "unknown",
    ...triedOf(attempted),
    settledAtMs: gate.clock.wallMs(),
  });

const countEnd = (
  resolved: Resolved,
  { call, operation }: BookedCall,
  { upstream }: Attempted,
  gate: Gate,
): void =>
  countCharge(resolved, { callId: call.id, operationId: operation.id, upstream: upstream.name }, gate);

/** Whether or not its end is in the books, nobody pays for what no upstream did, and it may be tried again. */
function takeBack(error: unknown, booked: BookedCall, attempted: Attempted, gate: Gate): never {
  takeBackLater(booked, triedOf(attempted), gate);
  booked.call.known.chargedMicros = 0n;
  const message = "No upstream did anything for the call, which could not be booked; it is not charged.";
  return refuseUnbooked(error, booked.call, { message, retryable: true }, gate);
}

/** True when the upstream certainly did no work, so that a retry under the same idempotency key or approval is safe. */
const isSafeToRetry = (exchanged: Exchanged): boolean =>
  exchanged.kind === "rate_limited" ||
  exchanged.kind === "key_rejected" ||
  exchanged.kind === "link_rejected" ||
  neverSent(exchanged);

function writeEnd(booked: BookedCall, attempted: Attempted, metered: Metered, gate: Gate): Promise<Resolved> {
  const { call, price, taskId } = booked;
  const settledAtMs = gate.clock.wallMs();
  if (metered.kind === "delivered") {
    return gate.ledger.settle({
      callId: call.id,
      outcome: metered.whole ? "succeeded" : "failed",
      used: metered.used,
      usageSource: metered.source,
      valuePico: valuePico(metered.used, price.terms),
      attempts: attempted.attempts,
      httpStatus: statusOf(attempted.exchanged),
      settledAtMs,
    });
  }
  return gate.ledger.release({
    callId: call.id,
    outcome: metered.kind === "nothing" ? "failed" : "unknown",
    ...triedOf(attempted),
    settledAtMs,
    ...(isSafeToRetry(attempted.exchanged) ? freedBy(booked) : {}),
    task: taskId === undefined ? undefined : refusedTask(taskId, settledAtMs),
  });
}

const triedOf = ({ exchanged, attempts }: Attempted): Tried => ({
  attempts,
  httpStatus: statusOf(exchanged),
});

const statusOf = (exchanged: Exchanged): number | undefined =>
  "status" in exchanged ? exchanged.status : undefined;

/** A task that the vendor did not take: nobody ever saw its id. */
const refusedTask = (taskId: string, nowMs: number): TaskEnd => ({
  taskId,
  fence: 0,
  state: "REFUSED",
  report: undefined,
  forgetAtMs: nowMs,
});
