/** A refusal that is not passed on as it came: a limit, or one about the operator. */
export type WithheldRefusal = RateLimited | KeyRejected;

interface RateLimited {
  readonly kind: "rate_limited";
  readonly status: 429;
  readonly retryAfterSeconds: number | undefined;
  readonly outOfCredit?: true | undefined;
}

/** It is about the operator: the key, or, where that is known, an account with nothing left to pay with. */
interface KeyRejected {
  readonly kind: "key_rejected";
  readonly status: number;
  readonly outOfCredit?: true | undefined;
  /** The account can pay, but not for a call as large as this one. */
  readonly callTooLarge?: true | undefined;
}

/** What is told of a task that failed because of the operator: no more than of a call. */
export const withheldReason = {
  code: "provider_unavailable",
  message: "The provider could not serve this task; nothing was charged.",
} as const;
