import type { Quantities } from "../prices/quantities.ts";
import type { Micros, Pico } from "../platform/money.ts";

/** Where a call's money is: held, then dispatched, then settled or released; unknown while nobody can tell. */
export type CallState = "held" | "dispatched" | "settled" | "released" | "unknown";

export type CallOutcome = "succeeded" | "failed" | "unknown";

/** Where the usage figures come from. */
export type UsageSource = "provider" | "estimated" | "none";

/** The outcome of an attempt whose caller did not wait for the end of its answer. */
export const callerLeft = "caller_left";
/** The outcome of an attempt that ended too early after its caller had stopped reading for a while. */
export const callerStalled = "caller_stalled";

/** The outcome of an attempt that the gateway, which was stopping, did not wait for any longer. */
export const gatewayStopped = "gateway_stopped";

/** The outcome of an attempt whose upstream refused the operator's key or account. */
export const keyRejected = "key_rejected";

/** What came of one try: an answer, a refusal, none at all, or a stream, of which it is known when it has ended. */
export type AttemptOutcome =
  | "answered"
  | "rate_limited"
  | typeof keyRejected
  | "link_rejected"
  | "unreachable"
  | "timeout"
  | "cut_off"
  | "redirect"
  | "too_large"
  | "malformed"
  /** It came to its end, or has not yet. */
  | "streaming"
  | "gave_up"
  | "broke_off"
  | typeof callerLeft
  | typeof callerStalled
  | typeof gatewayStopped;

/** One try at one upstream. */
export interface Attempt {
  readonly upstream: string;
  readonly outcome: AttemptOutcome;
  readonly status: number | null;
  readonly started_at_ms: number;
  readonly ended_at_ms: number;
}

/** Who made a call in a person's stead: a client that they had let in, under the name it had then. */
export interface CallClient {
  readonly grantId: string;
  readonly name: string;
}

/** A call as the books keep it. */
export interface CallRecord {
  readonly id: string;
  readonly accountId: string;
  readonly keyId: string;
  /** None of a call that was made with the key itself. */
  readonly client: CallClient | undefined;
  readonly operationId: string;
  readonly model: string | undefined;
  readonly state: CallState;
  readonly outcome: CallOutcome | undefined;
  readonly heldMicros: Micros;
  readonly valueMicros: Micros;
  readonly chargedMicros: Micros;
  readonly writtenOffMicros: Micros;
  readonly multiplierPpm: bigint;
  readonly priceVersion: string;
  readonly unitPricesPico: Readonly<Record<string, Pico>>;
  readonly used: Quantities;
  readonly usageSource: UsageSource;
  readonly httpStatus: number | undefined;
  readonly attempts: readonly Attempt[];
  readonly createdAtMs: number;
  readonly settledAtMs: number | undefined;
}
