// One logical call: sent, judged, looked up where in doubt, sent again where that is safe. One idempotency key for
// all of it, a bounded number of attempts, and an end that always says whether money moved.

import type { TollgateError } from "./errors.ts";
import { errorOf, type Failure } from "./failure.ts";
import { lookUp, type Outcome } from "./look-up.ts";
import { createPatience, type Patience } from "./patience.ts";
import { readAnswer, readHead, readOriginal, readRefusal, type Answer } from "./read-answer.ts";
import { decide, judge } from "./retry-rules.ts";
import { neverLeft, open, untrusted, type OutgoingCall, type Transport } from "./transport.ts";

export interface Sent<Value> {
  readonly value: Value;
  readonly attempts: number;
}

/** What a caller's code does with a successful answer: read it whole, or begin to read a stream. */
export type Reader<Value> = (response: Response) => Promise<Value>;

/** Sends until there is a successful answer to read, or until the rules say stop. */
export async function sendCall<Value>(
  call: OutgoingCall,
  transport: Transport,
  signal: AbortSignal,
  read: Reader<Value>,
): Promise<Sent<Value>> {
  const patience = createPatience(transport, signal);
  let doubted = false;
  for (let attempts = 1; ; attempts++) {
    const tried = await tryOnce(call, transport, signal, read, attempts);
    if ("value" in tried) return { value: tried.value, attempts };
    const next = await whatNext(tried, transport, signal, patience);
    if (next.kind === "end") throw next.error;
    doubted ||= next.doubted;
    const giveUp = (): TollgateError =>
      errorOf(tried, doubted ? { moneyMoved: "unknown" } : { moneyMoved: "no", chargedMicrosUsd: 0 });
    if (next.kind === "give_up" || attempts >= transport.attemptsMax)
      throw doubted ? await lastWord(tried, transport, signal) : giveUp();
    await patience.wait(tried.answer?.retryAfterMs, giveUp);
  }
}

/** The whole answer, for a call that is not a stream. */
export const readWhole =
  (transport: Transport): Reader<Answer> =>
  (response) =>
    readAnswer(response, transport.headerWord, transport.clock.nowMs());

/** A stream is handed on as it begins. An answer that is none is read here, where one that breaks off is looked up. */
export const readStreamOrWhole =
  (transport: Transport): Reader<{ readonly stream: Response } | { readonly whole: Answer }> =>
  async (response) => {
    const isStream = /^text\/event-stream\b/i.test(response.headers.get("content-type") ?? "");
    return isStream ? { stream: response } : { whole: await readWhole(transport)(response) };
  };

async function tryOnce<Value>(
  call: OutgoingCall,
  transport: Transport,
  signal: AbortSignal,
  read: Reader<Value>,
  attempts: number,
): Promise<{ readonly value: Value } | Failure> {
  if (signal.aborted && attempts === 1) {
    throw errorOf({ call, attempts: 0, requestId: undefined }, { kind: "aborted", ...paid(0) });
  }
  // Covers the answer until it is read; a stream is read for as long as it flows.
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), transport.attemptTimeoutMs);
  let requestId: string | undefined;
  try {
    const response = await open(call, transport, AbortSignal.any([signal, timeout.signal]));
    requestId = readHead(response, transport.headerWord, transport.clock.nowMs()).requestId;
    if (response.ok) return { value: await read(response) };
    const answer = await readAnswer(response, transport.headerWord, transport.clock.nowMs());
    return { call, attempts, requestId, answer };
  } catch (cause) {
    const failure = { call, attempts, requestId, cause };
    // The caller stopped waiting; what it left behind may still cost money, and only the books know.
    if (signal.aborted)
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
  /** Nothing left, and nothing would the next time; what an attempt before did is another matter. */
  | { readonly kind: "give_up"; readonly doubted: false };

async function whatNext(
  failure: Failure,
  transport: Transport,
  signal: AbortSignal,
  patience: Patience,
): Promise<Next> {
  const { call, answer, cause } = failure;
  const refusal = readRefusal(answer?.body);
  const verdict = judge(
    answer
      ? { kind: "answered", status: answer.status, shouldRetry: answer.shouldRetry, ...refusal }
      : { kind: "no_answer", neverLeft: neverLeft(cause), untrusted: untrusted(cause) !== undefined },
    call,
  );
  if (verdict === "send_again") return { kind: "again", doubted: false };
  if (verdict === "stop" && !answer) return { kind: "give_up", doubted: false };
  const isRunning = verdict === "wait_and_look_up";
  const error =
    verdict === "stop"
      ? await stopped(failure, transport, signal)
      : await findOutcome(failure, transport, signal, patience, isRunning);
  return error ? { kind: "end", error } : { kind: "again", doubted: true };
}

/** Asks the books until they know how the call ended, or that it never began; undefined when it may be sent again. */
async function findOutcome(
  failure: Failure,
  transport: Transport,
  signal: AbortSignal,
  patience: Patience,
  isRunning: boolean,
): Promise<TollgateError | undefined> {
  const { call, answer } = failure;
  const unknown = (): TollgateError => errorOf(failure, { moneyMoved: "unknown" });
  for (let looks = 1; ; looks++) {
    if (looks > 1 || isRunning) await patience.wait(answer?.retryAfterMs, unknown);
    const outcome = await lookUp({ ...call, requestId: failure.requestId }, transport, signal);
    if (!outcome && (looks >= transport.attemptsMax || !canLookUp(failure))) return unknown();
    const decision = outcome ? decide(outcome.found, call.idempotencyKey !== undefined) : "wait_and_look_up";
    if (decision === "send_again") return undefined;
    // A task is found running for as long as it runs, and whoever asks with its key is told its name.
    if (outcome && call.repeatsAnswer === true && decision !== "ended_unpaid") return undefined;
    if (decision === "answer_lost") return errorOf(failure, { kind: "answer_lost", ...paidBy(outcome) });
    if (decision === "ended_unpaid") return errorOf(failure, paidBy(outcome));
    if (looks >= looksMax) return unknown();
  }
}

/** A call may run for minutes; after so many looks it is the caller's to decide how long to go on. */
const looksMax = 30;

const canLookUp = ({ call, requestId }: Failure): boolean =>
  call.idempotencyKey !== undefined || requestId !== undefined;

/** The attempts are used up, and one of them was in doubt: a request can arrive after the books were first asked. */
async function lastWord(failure: Failure, transport: Transport, signal: AbortSignal): Promise<TollgateError> {
  const { call, requestId } = failure;
  const outcome = await lookUp({ ...call, requestId }, transport, signal);
  if (!outcome || outcome.found.kind === "running") return errorOf(failure, { moneyMoved: "unknown" });
  const isLost = decide(outcome.found, call.idempotencyKey !== undefined) === "answer_lost";
  return errorOf(failure, { ...(isLost ? { kind: "answer_lost" } : {}), ...paidBy(outcome) });
}

/** The request must not be sent again. What it cost stands in the answer, in the original's, or in the books. */
async function stopped(failure: Failure, transport: Transport, signal: AbortSignal): Promise<TollgateError> {
  const { call, answer } = failure;
  // A key is refused before anything else is looked at; it could not ask the books either.
  if (!answer || answer.status === 401) return errorOf(failure, paid(0));
  const { code = "" } = readRefusal(answer.body);
  if (answer.status === 409 && code.endsWith("request_already_completed")) return madeBefore(failure, answer);
  if (!call.billed) return errorOf(failure, paid(0));
  if (answer.costMicrosUsd !== undefined) return errorOf(failure, paid(answer.costMicrosUsd));
  if (answer.status === 409) {
    if (!code.endsWith("outcome_unknown")) return errorOf(failure, paid(0));
    // Whether the vendor did the work is not known; what was charged for it may be.
    const { requestId } = readOriginal(answer.body);
    const outcome = await lookUp({ ...call, requestId }, transport, signal);
    const known = outcome?.found.kind === "ended";
    return errorOf(failure, known ? paidBy(outcome) : { moneyMoved: "unknown" });
  }
  const outcome = await lookUp(
    { idempotencyKey: undefined, requestId: failure.requestId },
    transport,
    signal,
  );
  return errorOf(failure, outcome ? paidBy(outcome) : { moneyMoved: "unknown" });
}

/** The key's request has ended. Where an attempt of ours went before, it was that one, free or not, and its answer is gone. */
function madeBefore(failure: Failure, { body }: Answer): TollgateError {
  const { requestId, chargedMicrosUsd = 0, failed = false } = readOriginal(body);
  return errorOf(failure, {
    ...(failure.attempts > 1 && !failed ? { kind: "answer_lost" } : {}),
    ...(requestId === undefined ? {} : { requestId }),
    ...paid(chargedMicrosUsd),
  });
}

function paidBy(outcome: Outcome | undefined): ReturnType<typeof paid> & { requestId?: string | undefined } {
  const charged = outcome?.found.kind === "ended" ? outcome.found.chargedMicrosUsd : 0;
  return { ...paid(charged), ...(outcome?.requestId === undefined ? {} : { requestId: outcome.requestId }) };
}

const paid = (chargedMicrosUsd: number): { moneyMoved: "yes" | "no"; chargedMicrosUsd: number } => ({
  moneyMoved: chargedMicrosUsd > 0 ? "yes" : "no",
  chargedMicrosUsd,
});
