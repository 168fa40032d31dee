import { TollgateError, type ErrorFacts, type ErrorKind, type MoneyMoved } from "./errors.ts";
import { readRefusal, type Answer } from "./read-answer.ts";
import { neverLeft, untrusted, type OutgoingCall } from "./transport.ts";

/** A call, and how often it was sent. */
export interface SentCall {
  readonly call: OutgoingCall;
  readonly attempts: number;
}

/** An attempt that did not bring what the caller came for. Without an `answer` nothing whole came back. */
export interface Failure extends SentCall {
  readonly requestId: string | undefined;
  readonly answer?: Answer;
  readonly cause?: unknown;
}

export function errorOf(
  failure: Failure,
  facts: Partial<ErrorFacts> & Pick<ErrorFacts, "moneyMoved">,
): TollgateError {
  const { call, answer, attempts, requestId, cause } = failure;
  const body = facts.body ?? answer?.body;
  const refusal = readRefusal(body);
  const kind = facts.kind ?? kindOf(answer?.status);
  const own = ownMessage(kind, facts.moneyMoved, cause);
  const last = answer ? asItCame(answer.status, body) : "The answer broke off before its end.";
  return new TollgateError(own ?? refusal.message ?? last, {
    kind,
    code: refusal.code ?? kind,
    status: answer?.status,
    requestId,
    idempotencyKey: call.idempotencyKey,
    retryAfterSeconds: answer?.retryAfterMs === undefined ? undefined : Math.ceil(answer.retryAfterMs / 1000),
    attempts,
    body,
    cause,
    ...facts,
  });
}

function ownMessage(kind: ErrorKind, moneyMoved: MoneyMoved, cause: unknown): string | undefined {
  const distrust = kind === "connection" ? untrusted(cause) : undefined;
  if (distrust !== undefined) return `The connection to the gateway cannot be trusted (${distrust}).`;
  if (kind === "connection" && neverLeft(cause)) return "The gateway could not be reached.";
  if (kind === "answer_lost" && moneyMoved === "no") {
    return "The call was made, but its answer was lost; nothing was charged for it.";
  }
  return messages[kind];
}

/** For errors about which the gateway itself says nothing, or where what it said last is beside the point. */
const messages: Partial<Record<ErrorKind, string>> = {
  connection: "The gateway's answer did not come, or not completely.",
  answer_lost: "The call was made and charged, but its answer was lost; its receipt says what it cost.",
  aborted: "The caller stopped the call.",
  malformed_answer: "The answer is not what was asked for, or not what it says it is.",
};

/** Vendors put their reason in many places. Where it is in none that we know, the body is shown as it came. */
function asItCame(status: number, body: unknown): string {
  const written = typeof body === "string" ? body : JSON.stringify(body);
  const line = written.replaceAll(/[\s\p{Cc}]+/gu, " ").trim();
  if (line === "" || line === "{}") return `The gateway answered ${status}.`;
  const shown = line.length > shownMax ? `${line.slice(0, shownMax)}…` : line;
  return `The gateway answered ${status}: ${shown}`;
}

/** A message is a few lines at most; an error's `body` has all of it. */
const shownMax = 500;

function kindOf(status: number | undefined): ErrorKind {
  if (status === undefined) return "connection";
  if (status === 401) return "credentials";
  if (status === 402) return "budget";
  if (status === 403) return "forbidden";
  if (status === 409) return "conflict";
  if (status === 429) return "rate_limit";
  return status >= 500 ? "unavailable" : "parameters";
}
