// One logical call: sent, judged, looked up where in doubt, sent again where that is safe. One idempotency key for
// all of it, a bounded number of attempts, and an end that always says whether money moved.

import type { TollgateError } from "./errors.ts";
import { errorOf, type Failure, type SentCall } from "./failure.ts";
import { lookUp, type Outcome } from "./look-up.ts";
import { createPatience, type Patience } from "./patience.ts";
import { readAnswer, readHead, readOriginal, readRefusal, type Answer } from "./read-answer.ts";
import { decide, judge } from "./retry-rules.ts";
import { neverLeft, open, untrusted, type OutgoingCall, type Transport } from "./transport.ts";

/** A call that was answered well, and what was read of its answer. */
export interface Answered<Value> extends SentCall {
  readonly value: Value;
}

/** What a caller's code does with a successful answer: read it whole, or begin to read a stream. */
export type Reader<Value> = (response: Response, transport: Transport) => Promise<Value>;

/** Sends until there is a successful answer to read, or until the rules say stop. */
export async function sendCall<Value>(
  call: OutgoingCall,
  transport: Transport,
  read: Reader<Value>,
): Promise<Answered<Value>> {
  const patience = createPatience(transport, call.signal);
  let doubted = false;
  for (let attempts = 1; ; attempts++) {
    const tried = await tryOnce({ call, attempts }, transport, read);
    if ("value" in tried) return tried;
    const next = await whatNext(tried, transport, patience);
    if (next.kind === "end") throw next.error;
    doubted ||= next.doubted;
    const giveUp = (): TollgateError => (doubted ? inDoubt(tried) : errorOf(tried, paid(0)));
    if (next.kind === "give_up" || attempts >= transport.attemptsMax)
      throw doubted ? await lastWord(tried, transport) : giveUp();
    await patience.wait(tried.answer?.retryAfterMs, giveUp);
  }
}

/** The whole answer, for a call that is not a stream. */
export const readWhole: Reader<Answer> = (response, { headerWord, clock }) =>
  readAnswer(response, headerWord, clock.nowMs());

/** A stream is handed on as it begins. Any other answer is read here, so that one that breaks off is looked up. */
export const readStreamOrWhole: Reader<{ readonly stream: Response } | { readonly whole: Answer }> = async (
  response,
  transport,
) => {
  const isStream = /^text\/event-stream\b/i.test(response.headers.get("content-type") ?? "");
  return isStream ? { stream: response } : { whole: await readWhole(response, transport) };
};

async function tryOnce<Value>(
  sent: SentCall,
  transport: Transport,
  read: Reader<Value>,
): Promise<Answered<Value> | Failure> {
  const { call, attempts } = sent;
  if (call.signal.aborted && attempts === 1) {
    throw errorOf({ call, attempts: 0, requestId: undefined }, { kind: "aborted", ...paid(0) });
  }
  // Covers the answer until it is read; a stream is read for as long as it flows.
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), transport.attemptTimeoutMs);
  let requestId: string | undefined;
  try {
    const signal = AbortSignal.any([call.signal, timeout.signal]);
    const response = await open({ ...call, signal }, transport);
    requestId = readHead(response, transport.headerWord, transport.clock.nowMs()).requestId;
    if (response.ok) return { ...sent, value: await read(response, transport) };
    return { ...sent, requestId, answer: await readWhole(response, transport) };
  } catch (cause) {
    const failure = { ...sent, requestId, cause };
    // The caller stopped waiting; what it left behind may still cost money, and only the books know.
    if (call.signal.aborted)
      throw errorOf(failure, { kind: "aborted", moneyMoved: call.billed ? "unknown" : "no" });
    return failure;
  } finally {
    clearTimeout(timer);
  }
}

type Next =
  | { readonly kind: "end"; readonly error: TollgateError }
  /** `doubted`: an attempt before may have arrived after all, so giving up needs another look. */
  | { readonly kind: "again"; readonly doubted: boolean }
  /** Nothing was sent, nor would be the next time; but an earlier attempt may have arrived. */
  | { readonly kind: "give_up"; readonly doubted: false };

async function whatNext(failure: Failure, transport: Transport, patience: Patience): Promise<Next> {
  const { call, answer, cause } = failure;
  const refusal = readRefusal(answer?.body);
  const verdict = judge(
    answer
      ? { kind: "answered", status: answer.status, shouldRetry: answer.shouldRetry, ...refusal }
      : { kind: "no_answer", neverLeft: neverLeft(cause), untrusted: untrusted(cause) !== undefined },
    call,
  );
  if (verdict === "send_again") return { kind: "again", doubted: false };
  if (verdict === "stop") {
    if (!answer) return { kind: "give_up", doubted: false };
    return { kind: "end", error: await stopped(failure, answer, transport) };
  }
  if (verdict === "wait_and_look_up") await patience.wait(answer?.retryAfterMs, () => inDoubt(failure));
  const error = await findOutcome(failure, transport, patience);
  return error ? { kind: "end", error } : { kind: "again", doubted: true };
}

/** Asks the books until they know how the call ended, or that it never began; undefined when it may be sent again. */
async function findOutcome(
  failure: Failure,
  transport: Transport,
  patience: Patience,
): Promise<TollgateError | undefined> {
  const { call, requestId, answer } = failure;
  for (let looks = 1; ; looks++) {
    const outcome = await lookUp({ ...call, requestId }, transport);
    if (!outcome && (looks >= transport.attemptsMax || !canLookUp(failure))) return inDoubt(failure);
    const decision = outcome ? decide(outcome.found, call.idempotencyKey !== undefined) : "wait_and_look_up";
    if (decision === "send_again") return undefined;
    // A task shows as running until it ends; sending its creation again with the same key is answered with its id.
    if (outcome && call.repeatsAnswer === true && decision !== "ended_unpaid") return undefined;
    if (decision === "answer_lost") return errorOf(failure, { kind: "answer_lost", ...paidBy(outcome) });
    if (decision === "ended_unpaid") return errorOf(failure, paidBy(outcome));
    if (looks >= looksMax) return inDoubt(failure);
    await patience.wait(answer?.retryAfterMs, () => inDoubt(failure));
  }
}

/** A call may run for minutes; after this many looks the caller decides whether to go on. */
const looksMax = 30;

const canLookUp = ({ call, requestId }: Failure): boolean =>
  call.idempotencyKey !== undefined || requestId !== undefined;

/** The attempts are used up, and one of them was in doubt: a request can arrive after the books were first asked. */
async function lastWord(failure: Failure, transport: Transport): Promise<TollgateError> {
  const { call, requestId } = failure;
  const outcome = await lookUp({ ...call, requestId }, transport);
  if (!outcome || outcome.found.kind === "running") return inDoubt(failure);
  const isLost = decide(outcome.found, call.idempotencyKey !== undefined) === "answer_lost";
  return errorOf(failure, { ...(isLost ? { kind: "answer_lost" } : {}), ...paidBy(outcome) });
}

/** The request must not be sent again. What it cost stands in the answer, in the original's, or in the books. */
async function stopped(failure: Failure, answer: Answer, transport: Transport): Promise<TollgateError> {
  const { call, requestId } = failure;
  // A key is refused before anything else happens, and could not ask the books either.
  if (answer.status === 401) return errorOf(failure, paid(0));
  const { code = "" } = readRefusal(answer.body);
  if (answer.status === 409 && code.endsWith("request_already_completed")) return madeBefore(failure, answer);
  if (!call.billed) return errorOf(failure, paid(0));
  if (answer.costMicrosUsd !== undefined) return errorOf(failure, paid(answer.costMicrosUsd));
  if (answer.status === 409) {
    if (!code.endsWith("outcome_unknown")) return errorOf(failure, paid(0));
    // Whether the vendor did the work is not known; what was charged for it may be.
    const original = readOriginal(answer.body);
    const outcome = await lookUp({ ...call, requestId: original.requestId }, transport);
    return outcome?.found.kind === "ended" ? errorOf(failure, paidBy(outcome)) : inDoubt(failure);
  }
  const outcome = await lookUp({ idempotencyKey: undefined, requestId, signal: call.signal }, transport);
  return outcome ? errorOf(failure, paidBy(outcome)) : inDoubt(failure);
}

/** The request with this key has ended. If we sent it before, it was our own earlier attempt, whose answer is lost. */
function madeBefore(failure: Failure, { body }: Answer): TollgateError {
  const { requestId, chargedMicrosUsd = 0, failed = false } = readOriginal(body);
  return errorOf(failure, {
    ...(failure.attempts > 1 && !failed ? { kind: "answer_lost" } : {}),
    ...(requestId === undefined ? {} : { requestId }),
    ...paid(chargedMicrosUsd),
  });
}

const inDoubt = (failure: Failure): TollgateError => errorOf(failure, { moneyMoved: "unknown" });

function paidBy(outcome: Outcome | undefined): ReturnType<typeof paid> & { requestId?: string | undefined } {
  const charged = outcome?.found.kind === "ended" ? outcome.found.chargedMicrosUsd : 0;
  return { ...paid(charged), ...(outcome?.requestId === undefined ? {} : { requestId: outcome.requestId }) };
}

const paid = (chargedMicrosUsd: number): { moneyMoved: "yes" | "no"; chargedMicrosUsd: number } => ({
  moneyMoved: chargedMicrosUsd > 0 ? "yes" : "no",
  chargedMicrosUsd,
});
