import { dayMs } from "../platform/utc-day.ts";

/** What a vendor keeps of an answer that somebody got here: the answer itself and its items, for later calls to go on with. */
export interface KeptAnswer {
  readonly accountId: string;
  /** Who keeps it. */
  readonly upstream: string;
  /** Only hashes of the vendor's ids are written down: whoever knows an id could read what was said. */
  readonly idHashes: readonly Uint8Array[];
  readonly untilMs: number;
}

/** What is known of one id. A vendor may give the same one to several accounts; then it is everybody's who got it. */
export type FoundKept =
  | { readonly isOwn: true; readonly upstream: string }
  /** Only others got it. */
  | { readonly isOwn: false };

/**
 * Invariants: an id is an account's own if that account got it, and stays so whoever else gets it; nothing past its time
 * is found; what is past its time goes as new ones come, so that there are no more than the vendors have.
 */
export interface KeptAnswers {
  readonly keep: (answer: KeptAnswer, nowMs: number) => Promise<void>;
  /** One for each id, in their order; undefined for one that nobody got here. */
  readonly find: (
    accountId: string,
    idHashes: readonly Uint8Array[],
    nowMs: number,
  ) => Promise<readonly (FoundKept | undefined)[]>;
}

export const hashKeptId = (id: string): Uint8Array => new Bun.CryptoHasher("sha256").update(id).digest();

/** Vendors keep what they keep for 30 days. A day more, so that no clock lets go before theirs does. */
export const answersKeptMs = 31 * dayMs;
