import type { Attempt, CallOutcome, UsageSource } from "../ledger/call-record.ts";
import type { Carry } from "../ledger/charge.ts";
import type { IdempotencyClaim } from "../ledger/ledger.ts";
import type { Quantities } from "../prices/quantities.ts";
import type { Micros } from "../platform/money.ts";

/** What is known of a call from the moment it is held. None of it ever changes, but for the first budget of its key. */
export interface HeldCall {
  readonly callId: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly operationId: string;
  readonly model: string | null;
  readonly heldMicros: Micros;
  readonly priceVersion: string;
  readonly multiplierPpm: bigint;
  /**
   * The row of the key's budget that it counts in: its day, and in calls of earlier programs also its month, or 0. Null for
   * keys that never had a budget.
   */
  readonly budgetDayMs: number | null;
  readonly grantId: string | null;
  readonly runId: bigint;
  readonly createdAtMs: number;
  readonly claim: IdempotencyClaim | undefined;
}

/** How it ended. */
export interface CallEnd {
  readonly state: "settled" | "released";
  readonly outcome: CallOutcome;
  readonly valueMicros: Micros;
  readonly chargedMicros: Micros;
  readonly writtenOffMicros: Micros;
  /** What the account carries on after this call. */
  readonly carry: Carry;
  readonly used: Quantities;
  readonly usageSource: UsageSource;
  readonly httpStatus: number | null;
  readonly attempts: readonly Attempt[];
  readonly dispatchedAtMs: number | null;
  readonly settledAtMs: number;
  /** The idempotency key is free again. */
  readonly freedKeyHash: Uint8Array | undefined;
}
