/** Whether the account paid for a call that ended in an error. `unknown` only where nobody could be asked. */
export type MoneyMoved = "no" | "yes" | "unknown";

/** What went wrong, as far as it decides what to do next. */
export type ErrorKind =
  /** The key is missing, wrong, expired or disabled (401). */
  | "credentials"
  /** The request itself must change (400, 404, 413, 415, 422, …), or was never sent because it cannot be right. */
  | "parameters"
  /** The price is above the cap, the budget or the balance (402). */
  | "budget"
  /** A link, a scope or an approval is missing, or the key is not for this model or operation (403). */
  | "forbidden"
  /** Another call has, or had, this idempotency key (409). */
  | "conflict"
  /** A limit stayed full for all attempts (429). */
  | "rate_limit"
  /** The gateway or its upstream failed (5xx). */
  | "unavailable"
  /** No answer came, or not a whole one. */
  | "connection"
  /** The call was made, and paid for unless it is free, but its answer was lost on the way. The receipt says what it cost. */
  | "answer_lost"
  /** An answer came that is not what it says it is, such as JSON that does not parse. */
  | "malformed_answer"
  /** The caller's signal said stop. */
  | "aborted"
  /** A task was not final within the time given. */
  | "timeout";

export interface ErrorFacts {
  readonly kind: ErrorKind;
  /** The gateway's own word, such as `insufficient_balance`; ours where no answer came. */
  readonly code: string;
  readonly moneyMoved: MoneyMoved;
  readonly status?: number | undefined;
  readonly requestId?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  /** What was charged, in micro-USD; undefined when that is not known. */
  readonly chargedMicrosUsd?: number | undefined;
  readonly retryAfterSeconds?: number | undefined;
  readonly attempts?: number | undefined;
  /** The answer's body: parsed where it is JSON, text otherwise. */
  readonly body?: unknown;
  readonly cause?: unknown;
}

/** The one error this client throws. `kind` tells what to do, `moneyMoved` what it cost. */
export class TollgateError extends Error {
  readonly kind: ErrorKind;
  readonly code: string;
  readonly moneyMoved: MoneyMoved;
  readonly status: number | undefined;
  readonly requestId: string | undefined;
  readonly idempotencyKey: string | undefined;
  readonly chargedMicrosUsd: number | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly attempts: number;
  readonly body: unknown;

  constructor(message: string, facts: ErrorFacts) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.name = "TollgateError";
    this.kind = facts.kind;
    this.code = facts.code;
    this.moneyMoved = facts.moneyMoved;
    this.status = facts.status;
    this.requestId = facts.requestId;
    this.idempotencyKey = facts.idempotencyKey;
    this.chargedMicrosUsd = facts.chargedMicrosUsd;
    this.retryAfterSeconds = facts.retryAfterSeconds;
    this.attempts = facts.attempts ?? 1;
    this.body = facts.body;
  }
}

/** What is wrong before anything is sent. */
export const misuse = (
  code: string,
  message: string,
  kind: Extract<ErrorKind, "parameters" | "credentials"> = "parameters",
): TollgateError => new TollgateError(message, { kind, code, moneyMoved: "no", attempts: 0 });

export const isTollgateError = (value: unknown): value is TollgateError => value instanceof TollgateError;
