import type { TakenAt } from "./taken-at.ts";

/** So much of something counted per sliding minute: requests, tokens, an upstream's quota. */
export interface RateWant {
  readonly kind: "rate";
  readonly of: "requests" | "tokens" | "upstream";
  readonly name: string;
  /** The group of operations that it is counted for, where it is not for all of a key's. */
  readonly group?: string;
  readonly amount: number;
  readonly limit: number;
}

/** One of a number of places, leased to a holder: it comes back by itself should the holder never return it. */
export interface SlotWant {
  readonly kind: "slot";
  readonly name: string;
  readonly holder: string;
  readonly limit: number;
  readonly leaseMs: number;
}

export type Want = RateWant | SlotWant;

/** How one limit stands at this moment. */
export interface Standing {
  readonly limit: number;
  readonly remaining: number;
  /** Milliseconds until the oldest counted amount is forgotten. */
  readonly resetsInMs: number;
}

export type Take =
  | { readonly kind: "taken"; readonly standings: readonly Standing[]; readonly takenAt: TakenAt }
  | {
      readonly kind: "refused";
      /** Which of the wants did not fit. */
      readonly want: Want;
      readonly standing: Standing;
      /** Milliseconds until it would fit if nobody else took anything. */
      readonly retryInMs: number;
    };

export type LimiterRefusal = Extract<Take, { kind: "refused" }>;

/**
 * Limits that forget. Invariants: in no 60 s is more than `limit` of a rate taken, and what was taken counts for 60 s, to the
 * millisecond, and no longer; no more than `limit` holders have a slot; wants are taken all or none, and a refused take
 * changes nothing.
 */
export interface Limiter {
  readonly take: (wants: readonly Want[]) => Take | Promise<Take>;
  /** Gives back what was taken for a call that did not happen. */
  readonly giveBack: (wants: readonly Want[], takenAt: TakenAt) => void | Promise<void>;
  /** Replaces an estimate by what was really used. */
  readonly correct: (want: RateWant, used: number, takenAt: TakenAt) => void | Promise<void>;
  readonly freeSlot: (name: string, holder: string) => void | Promise<void>;
  /** How a limit stands, without taking anything. */
  readonly look: (want: Want) => Standing | Promise<Standing>;
}
