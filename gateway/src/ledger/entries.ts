import type { Micros } from "../platform/money.ts";

/** What moves a balance, in the order that is told of entries booked in the same millisecond: money comes before it goes. */
export const entryKinds = ["grant", "top_up", "adjustment", "charge"] as const;
export type EntryKind = (typeof entryKinds)[number];

/** The account's side of one transfer. */
export interface Entry {
  /** The id of the transfer; a charge has that of its call. */
  readonly id: string;
  readonly kind: EntryKind;
  readonly bookedAtMs: number;
  /** Negative where it was taken. */
  readonly amountMicros: Micros;
  /** What the account had once this was booked. */
  readonly balanceMicros: Micros;
  /** What was written down with a payment. */
  readonly reason: string | undefined;
  /** What a charge is for. */
  readonly call:
    | { readonly operationId: string; readonly model: string | undefined; readonly keyId: string }
    | undefined;
}

export interface EntryFilter {
  readonly limit: number;
  /** Only what was booked before this entry, or before this moment. */
  readonly before: { readonly id: string } | { readonly atMs: number } | undefined;
}

/** Newest first, as they were booked. Without `before`, and when there is no more, they sum to the balance. */
export interface EntryPage {
  readonly entries: readonly Entry[];
  readonly hasMore: boolean;
  /** The balance at this moment, whatever page it is. */
  readonly balanceMicros: Micros;
}
