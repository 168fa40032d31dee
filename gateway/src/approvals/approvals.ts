import type { Micros } from "../platform/money.ts";

/** One call that a person is asked to allow. */
export interface ApprovalItem {
  readonly operationId: string;
  /** What exactly is allowed: a digest of operation, arguments and cap, made by the door that asks. */
  readonly digest: Uint8Array;
  /** The most the call may hold. */
  readonly capMicros: Micros;
  /** What this very call will probably cost. */
  readonly expectedMicros: Micros;
  /** The arguments as JSON, each member shortened by itself, so that a person sees at a glance what they allow. */
  readonly summary: string;
  /** The same at length, for whoever wants to read all of it; kept until the question is decided. */
  readonly arguments: string;
  /** They are so long that even `arguments` is a part of them. */
  readonly argumentsCut: boolean;
}

export type ApprovalDecision = "approved" | "denied";

/** A question to a person, and the answer. It allows each of its calls once, for the one who asked. */
export interface Approval {
  readonly id: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly grantId: string | undefined;
  /** Who asks, in words, such as the client's name; the key is named beside it wherever a person reads this. */
  readonly asker: string;
  readonly items: readonly (ApprovalItem & { readonly callId: string | undefined })[];
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  readonly decision: ApprovalDecision | undefined;
  readonly decidedAtMs: number | undefined;
}

export interface NewApproval extends Omit<Approval, "items" | "decision" | "decidedAtMs"> {
  readonly items: readonly ApprovalItem[];
}

/** Presented with a hold, which uses it up in its own transaction. */
export interface ApprovalClaim {
  readonly id: string;
  readonly digest: Uint8Array;
}

/** Why a claim does not allow a call. `unknown` also stands for somebody else's. */
export type ApprovalDenial = "unknown" | "undecided" | "denied" | "expired" | "used" | "too_small";

/** A person who has not answered by then is not there; the agent asks again. */
export const approvalTtlMs = 15 * 60_000;
/** Unanswered questions of one asker (a key, or a grant) at a time; an agent that asks more is not waiting for answers. */
export const openApprovalsMax = 100;

/**
 * Invariants: an approval belongs to the account, key and grant that asked; it is decided once; each of its
 * items is used by at most one call, in the transaction that holds that call's money. A call for which no upstream did
 * anything gives its item back, in the transaction that releases it.
 */
export interface ApprovalBook {
  /**
   * Asks. Who has asked for exactly these calls already, and waits, gets that question, open for as long as a new one.
   * An asker with too many open questions loses its oldest, and nobody else's.
   */
  readonly open: (approval: NewApproval) => Promise<Approval>;
  /** Another account's approval is not found. */
  readonly find: (id: string, accountId: string) => Promise<Approval | undefined>;
  /** Decides an open, unexpired question; anything else is returned as it stands. */
  readonly decide: (decision: {
    readonly id: string;
    readonly accountId: string;
    readonly decision: ApprovalDecision;
    readonly nowMs: number;
  }) => Promise<Approval | undefined>;
}
