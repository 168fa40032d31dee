import type { ApprovalClaim, ApprovalDenial } from "../approvals/approvals.ts";
import type { DayBound } from "../grants/grants.ts";
import type { Budget, BudgetUse } from "../keys/keys.ts";
import type { Quantities } from "../prices/quantities.ts";
import type { Terms } from "../prices/terms.ts";
import type { Micros, Pico } from "../platform/money.ts";
import type { Attempt, CallOutcome, CallState, UsageSource } from "./call-record.ts";
import type { NewTask, TaskEnd } from "./task-record.ts";

/** Money asked for before an upstream is called. The id is made by the gateway first and names the call for ever. */
export interface HoldRequest {
  readonly callId: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly operationId: string;
  readonly model: string | undefined;
  readonly amountMicros: Micros;
  readonly terms: Terms;
  readonly multiplierPpm: bigint;
  readonly createdAtMs: number;
  /** What the key may spend in the window that contains `createdAtMs`. */
  readonly budget: Budget | undefined;
  /** The grant of an access token: it must be alive at this moment, and its day's spend is bounded like a budget. */
  readonly grant: DayBound | undefined;
  /** The most that may be held without an approval of this very call; undefined where nobody needs one. */
  readonly coveredMicros: Micros | undefined;
  /** An approval that is used up with the hold, once; only a call for which nothing was done gives it back. */
  readonly approval: ApprovalClaim | undefined;
  /** Claimed together with the hold: there is no moment at which one exists without the other. */
  readonly idempotency: IdempotencyClaim | undefined;
  /** The task that the call begins. Opened together with the hold, within the key's limit of open tasks. */
  readonly task: NewTask | undefined;
}

/** What decides whether a hold is possible. */
export type WantedHold = Omit<HoldRequest, "callId" | "operationId" | "model" | "terms" | "multiplierPpm">;

/**
 * The caller's Idempotency-Key as the books keep it, and the digest of the request it was sent with. An account has each of
 * its keys once, over all kinds of requests: calls, links that are begun, applications for more.
 */
export interface IdempotencyClaim {
  readonly keyHash: Uint8Array;
  readonly fingerprint: Uint8Array;
  /** A request that ended longer ago has the key no more; a day where it is not said. Less for keys that are our own. */
  readonly keptMs?: number | undefined;
}

/** The request that already has the key. */
export interface EarlierCall {
  readonly callId: string;
  readonly sameRequest: boolean;
  readonly state: CallState;
  readonly outcome: CallOutcome | undefined;
  readonly chargedMicros: Micros;
  /** It was no call: a link that was begun, an application for more. Such requests cost nothing and have no receipt. */
  readonly unpaid?: true;
}

/** Whether the money is held, and if not, why, with all that its caller is told about it. */
export type HoldResult =
  | { readonly kind: "held" }
  | { readonly kind: "idempotency_conflict"; readonly earlier: EarlierCall }
  | { readonly kind: "insufficient_balance"; readonly availableMicros: Micros }
  | ({ readonly kind: "budget_exceeded"; readonly budget: Budget } & BudgetUse)
  | { readonly kind: "account_suspended" }
  | { readonly kind: "grant_ended" }
  | ({ readonly kind: "grant_day_exceeded"; readonly perDayMicros: Micros } & BudgetUse)
  | { readonly kind: "approval_required"; readonly reason: "uncovered" | ApprovalDenial }
  | { readonly kind: "too_many_tasks"; readonly openMax: number };

/** How a call ended, with the evidence. The ledger turns value into a charge: nobody else rounds. */
export interface Settlement {
  readonly callId: string;
  readonly outcome: Exclude<CallOutcome, "unknown">;
  readonly used: Quantities;
  readonly usageSource: UsageSource;
  readonly valuePico: Pico;
  readonly httpStatus: number | undefined;
  readonly attempts: readonly Attempt[];
  readonly settledAtMs: number;
  /** The task that ends with the call. When its claim is lost, neither ends. */
  readonly task?: TaskEnd | undefined;
}

/**
 * A call that ends without a charge. Only where the outcome is unknown, and so nobody read the evidence, what was noted
 * as its progress is charged: that much was delivered.
 */
export interface Release {
  readonly callId: string;
  readonly outcome: Exclude<CallOutcome, "succeeded">;
  readonly httpStatus: number | undefined;
  readonly attempts: readonly Attempt[];
  readonly settledAtMs: number;
  /** Given when the upstream certainly did nothing: the key is free again, for a retry with the same one. */
  readonly freed?: { readonly accountId: string; readonly keyHash: Uint8Array } | undefined;
  /** Likewise: the approval that the call used up allows it again. */
  readonly freedApprovalId?: string | undefined;
  readonly task?: TaskEnd | undefined;
  /** Also ends the task of the call, should it have one that never left. */
  readonly abandonsTask?: true;
}

/** What became of a call. The first resolution stands; `first` is false for whoever comes later. */
export interface Resolved {
  readonly first: boolean;
  readonly state: CallState;
  readonly chargedMicros: Micros;
  readonly valueMicros: Micros;
  readonly writtenOffMicros: Micros;
}

export interface RecordedPrice {
  readonly operationId: string;
  readonly model: string | undefined;
  readonly terms: Terms;
}

export interface Recovery {
  readonly releasedCalls: number;
  readonly releasedMicros: Micros;
  /** Streams that were cut by the crash, charged for what they had delivered. */
  readonly settledCalls: number;
  /** What those came to, each operation once. */
  readonly charges: readonly RecoveredCharge[];
  /** Tasks that were being created: nobody knows whether their vendors have them. Their holds stay. */
  readonly lostTasks: number;
}

export interface RecoveredCharge {
  readonly operationId: string;
  readonly chargedMicros: Micros;
  readonly writtenOffMicros: Micros;
}

/**
 * The one door of money.
 *
 * Invariants: entries of a transfer sum to zero and are never changed; an account's posted balance is the
 * sum of its entries; its held amount is the sum of its open calls; posted − held never falls below zero;
 * a call is settled or released exactly once, and charged between nothing and what was held. When a
 * returned promise resolves, what it reports is on disk. Every method may be repeated with the same id.
 */
export interface Ledger {
  /** Terms are written down before anything is held under them, so every charge can be explained for ever. */
  readonly recordPrices: (prices: readonly RecordedPrice[]) => Promise<void>;
  readonly hold: (request: HoldRequest) => Promise<HoldResult>;
  /** What `hold` would answer at this moment. Nothing is held, claimed or written. */
  readonly wouldHold: (request: WantedHold) => Promise<HoldResult>;
  /** Who has this idempotency key now; undefined when it is free. */
  readonly findEarlier: (
    accountId: string,
    claim: IdempotencyClaim,
    nowMs: number,
  ) => Promise<EarlierCall | undefined>;
  /** Notes that bytes may have left. Written along with some later commit; nobody waits for it. */
  readonly markDispatched: (callId: string, atMs: number) => void;
  /** What a stream has delivered so far, for the case that nobody lives to see its end, or can tell. Rides along. */
  readonly noteProgress: (callId: string, used: Quantities) => void;
  readonly settle: (settlement: Settlement) => Promise<Resolved>;
  /** Also for a call that was never held, which changes nothing. */
  readonly release: (release: Release) => Promise<Resolved>;
  /**
   * Begins the run of a server: every call left open by a process that is gone is resolved, unless its task is still
   * open; nothing is ever sent again, idempotency keys past their time are forgotten, and a store whose holds do not add
   * up afterwards is refused. Nothing is held before this.
   */
  readonly beginRun: (nowMs: number) => Promise<Recovery>;
}
