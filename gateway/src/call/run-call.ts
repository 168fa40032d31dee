// The life of a call, in one straight line. Start reading here. Every door walks it, and each step either
// hands on what the next one needs or refuses; there is no way around a step. Beside each stands what it refuses with; a step
// that asks the books refuses with 503, too, when they do not answer.

import { CallRefused } from "../platform/refusals.ts";
import { answerAboutTask } from "./steps/about-task.ts";
import { actForLink } from "./steps/act-for-link.ts";
import { admit } from "./steps/admit.ts";
import { answerFree } from "./steps/answer-free.ts";
import { answerSelfService } from "./steps/answer-self-service.ts";
import { authenticate, authenticateAgain } from "./steps/authenticate.ts";
import { beginTask, findEarlierTask, loseLater } from "./steps/begin-task.ts";
import type { Answer, Call } from "./call.ts";
import { checkOperationAllowed } from "./steps/check-allowed.ts";
import { endLater, nothingTried } from "./later/end-later.ts";
import { countOperation, countRequest } from "./steps/count-request.ts";
import { findKept } from "./steps/find-kept.ts";
import { findOperation } from "./steps/find-operation.ts";
import { forward, isStreaming, type Attempted } from "./steps/forward.ts";
import type { Gate } from "./gate.ts";
import { giveUp, hold } from "./steps/hold.ts";
import { meter } from "./steps/meter.ts";
import { bookedCallOf, type PricedCall } from "./priced-call.ts";
import { prepare } from "./steps/prepare.ts";
import { priceCall } from "./steps/price-call.ts";
import { quote } from "./steps/quote.ts";
import { refuseHold } from "./refusals/refuse-hold.ts";
import { settle } from "./steps/settle.ts";
import type { Share } from "./limits/share.ts";
import { checkMayChange } from "./steps/check-may-spend.ts";
import { streamAnswer } from "./steps/stream-answer.ts";
import { noteQuota } from "./steps/take-turn.ts";
import { readBody, validate, validateQuery } from "./steps/validate.ts";
import { readWishes } from "./steps/wishes.ts";
import { asksAboutTask, asksUpstream, type ValidCall } from "./valid-call.ts";

/** An `await` costs as much as a whole step, even on a value that is already there, so only promises are awaited. */
export async function runCall(call: Call, gate: Gate): Promise<Answer> {
  const begunAtMs = gate.clock.monotonicMs();
  const found = authenticate(call, gate); //                                     401 · 403 · 429
  let caller = found instanceof Promise ? await found : found;
  call.known.caller = caller;
  const counting = countRequest(call, caller, gate); //                          429
  if (counting) await counting;
  const { offered, params } = findOperation(call); //                            404 · 500
  const { operation } = offered;
  checkOperationAllowed(operation, caller); //                                   403
  const countingMore = countOperation(call, operation, caller, gate); //         429
  if (countingMore) await countingMore;
  const query = validateQuery(call, operation); //                               400
  const reading = readBody(call, operation, gate); //                            408 · 413 · 415 · 429
  const rawBody = reading instanceof Promise ? await reading : reading;
  const foundAgain = authenticateAgain(call, caller, begunAtMs, gate); //        401 · 403 · 429
  caller = foundAgain instanceof Promise ? await foundAgain : foundAgain;
  checkOperationAllowed(operation, caller); //                                   403
  const input = validate(call, operation, { params, query, rawBody }); //        400
  const wishes = readWishes(call, operation, input); //                          400
  checkMayChange(operation, caller); //                                          403
  // A call has the kind of its operation: a union, which the compiler does not infer by itself.
  const valid = { call, operation, offered, input, caller, wishes } as ValidCall;
  if (asksAboutTask(valid)) return answerAboutTask(valid, gate);
  if (!asksUpstream(valid)) return answerSelfService(valid, gate);
  const { operation: sold } = valid;
  if (sold.price.kind === "free") return answerFree(valid, gate);

  let price = priceCall(valid, gate); //                                         403 · 404 · 503
  call.known.model = price.model?.id;
  call.known.atMostMicros = price.atMostMicros;
  const finding = findKept(valid, price, gate); //                               400
  const kept = finding && (await finding);
  if (kept?.kind === "found") price = { ...price, upstreams: kept.upstreams };
  const acting = sold.link && (await actForLink(sold.link, valid, price, gate));
  const taskId = sold.task && gate.newTaskId();
  const priced: PricedCall = { call, operation: sold, offered, input, caller, wishes, price, acting, taskId };
  const candidates = prepare(priced, gate); //                                   400
  if (kept?.kind === "not_found") return kept.answer(); //                       400 · 404
  if (wishes.quote) return quote(priced, gate);

  const earlierTask = taskId === undefined ? undefined : await findEarlierTask(priced, gate); // 409
  if (earlierTask) return earlierTask;

  const admitting = admit(priced, candidates, gate); //                          403 · 409 · 429 · 503
  const admission = admitting instanceof Promise ? await admitting : admitting;
  try {
    const held = await hold(priced, gate); //                                    402 · 403 · 409 · 429
    if (held.kind !== "held") await refuseHold(held, priced, gate);
  } catch (error) {
    return giveUp(error, admission, priced, gate);
  }
  call.known.held = true;
  const { turn, share } = admission;
  noteQuota(call, turn, gate);
  try {
    const attempted = await forward(priced, turn, candidates, gate);
    const answer = await deliver(priced, attempted, share, gate); //             429 · 502 · 503
    // A stream goes on after this, and gives its share back when it has ended.
    if (answer.ended) {
      endWith(answer.ended, share).catch(() => {});
      return answer;
    }
    const ending = share.end();
    if (ending) await ending;
    return answer;
  } catch (error) {
    // Whatever happens while money is held, the slot is given back.
    await share.end();
    // What was seen of the tokens included this call, which is no longer true.
    call.known.tokens = undefined;
    gate.openAttempts.delete(call.id);
    if (!(error instanceof CallRefused)) endAfterBug(priced, gate);
    throw error;
  }
}

/** Meters and settles the answer, each kind in its own way. */
function deliver(
  priced: PricedCall,
  attempted: Attempted,
  share: Share,
  gate: Gate,
): Answer | Promise<Answer> {
  if (isStreaming(attempted)) return streamAnswer(bookedCallOf(priced), attempted, share, gate);
  if (priced.taskId !== undefined) return beginTask(priced, priced.taskId, attempted, gate);
  const metered = meter(priced, attempted, gate);
  if (metered.kind === "delivered") share.used(metered.used);
  return settle(priced, attempted, metered, gate);
}

async function endWith(ended: Promise<void>, share: Share): Promise<void> {
  try {
    await ended;
  } finally {
    await share.end();
  }
}

/**
 * A bug of ours ends the hold: nothing was delivered. Only a task may exist in spite of it, so its hold waits for the
 * deadline.
 */
function endAfterBug({ call, taskId }: PricedCall, gate: Gate): void {
  if (taskId === undefined) endLater(call.id, nothingTried, gate);
  else loseLater(taskId, gate);
}
