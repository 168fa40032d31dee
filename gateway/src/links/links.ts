import type { EarlierCall, IdempotencyClaim } from "../ledger/ledger.ts";

/** Who a linked account belongs to: the key that linked it, and that key's account. */
export interface LinkOwner {
  readonly keyId: string;
  readonly accountId: string;
}

/** A link that was begun and waits for the platform to send a person back. */
export interface LinkAttempt extends LinkOwner {
  /** SHA-256 of the state; the state itself is kept nowhere. */
  readonly stateHash: Uint8Array;
  readonly upstream: string;
  readonly scopes: readonly string[];
  readonly salt: Uint8Array;
  /** The PKCE verifier, sealed. */
  readonly verifier: Uint8Array;
  /** Whether the person must have passed our own page, in the same browser. */
  readonly confirm: boolean;
  /** SHA-256 of that browser's cookie, once the person confirmed there. */
  readonly browserHash: Uint8Array | undefined;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
}

export type NewLinkAttempt = Omit<LinkAttempt, "browserHash"> & {
  readonly id: string;
  readonly idempotency: IdempotencyClaim | undefined;
};

/** One that nobody can finish. Whoever used it too late is told that it has expired, however often they come. */
export interface EndedAttempt {
  readonly kind: "unknown" | "used" | "expired";
}

export type FoundAttempt = { readonly kind: "open"; readonly attempt: LinkAttempt } | EndedAttempt;
export type TakenAttempt = { readonly kind: "taken"; readonly attempt: LinkAttempt } | EndedAttempt;

/** A platform account that calls of one key act for. Its tokens are sealed; the store cannot read them. */
export interface Link extends LinkOwner {
  readonly id: string;
  readonly upstream: string;
  /** Undefined while the platform has not told, because nobody allowed it to or it could not be asked. */
  readonly user: PlatformUser | undefined;
  readonly scopes: readonly string[];
  readonly tokens: SealedTokens;
  readonly createdAtMs: number;
  /** Since when the platform refuses it: only linking again helps. */
  readonly lapsedAtMs: number | undefined;
  readonly revokedAtMs: number | undefined;
}

export interface PlatformUser {
  readonly id: string;
  readonly username: string;
}

/** Everything that changes when the platform gives new tokens; the version counts how often it did. */
export interface SealedTokens {
  readonly version: number;
  readonly salt: Uint8Array;
  readonly access: Uint8Array;
  readonly refresh: Uint8Array | undefined;
  /** When the access token ends; undefined when the platform did not say. */
  readonly expiresAtMs: number | undefined;
}

export type NewLink = Omit<Link, "lapsedAtMs" | "revokedAtMs"> & {
  /** SHA-256 of the one token with which the person can take it back, and until when. */
  readonly undoHash: Uint8Array;
  readonly undoUntilMs: number;
};

/**
 * Linked accounts and the attempts at linking. Invariants: an attempt is taken once; a key has at most one live link
 * at an upstream, and a new one takes the place of the old in one step; tokens are replaced only by whoever saw the
 * version that is stored; a revoked link has no tokens any more; a key has a bounded number of attempts and of
 * revoked links; an attempt that is open, neither used nor expired, is never ended by another.
 */
export interface LinkBook {
  readonly begin: (attempt: NewLinkAttempt) => Promise<
    | { readonly kind: "begun" }
    | { readonly kind: "idempotency_conflict"; readonly earlier: EarlierCall }
    /** The key has as many open ones as it may; one of them ends by itself at this moment. */
    | { readonly kind: "too_many_open"; readonly endsAtMs: number }
  >;
  readonly findAttempt: (stateHash: Uint8Array, nowMs: number) => Promise<FoundAttempt>;
  /** Notes in which browser the person confirmed. */
  readonly bindBrowser: (stateHash: Uint8Array, browserHash: Uint8Array) => Promise<void>;
  readonly takeAttempt: (stateHash: Uint8Array, nowMs: number) => Promise<TakenAttempt>;

  /** Saves the link; returns the one whose place it takes, as it was. */
  readonly save: (link: NewLink) => Promise<Link | undefined>;
  readonly find: (linkId: string) => Promise<Link | undefined>;
  /** The live link of a key at an upstream. */
  readonly findLive: (keyId: string, upstream: string) => Promise<Link | undefined>;
  /** Newest first. */
  readonly list: (of: { readonly accountId?: string; readonly keyId?: string }) => Promise<readonly Link[]>;
  readonly setUser: (linkId: string, user: PlatformUser) => Promise<void>;

  /** Whether the asker may renew these tokens now; others are told no until then, or until the version changes. */
  readonly claimRenewal: (claim: {
    readonly linkId: string;
    readonly version: number;
    readonly nowMs: number;
    readonly untilMs: number;
  }) => Promise<boolean>;
  /** False when the link was revoked, or its tokens replaced, meanwhile. One that had lapsed lives again with new tokens. */
  readonly replaceTokens: (
    linkId: string,
    tokens: SealedTokens,
    scopes: readonly string[],
  ) => Promise<boolean>;
  /** Gives up a claim: the tokens were not renewed, and that may be tried again. */
  readonly endRenewal: (linkId: string, version: number) => Promise<void>;
  /** Notes that the platform refuses these tokens for good. */
  readonly lapse: (linkId: string, version: number, nowMs: number) => Promise<void>;

  /** Ends a link for ever and forgets its tokens; returns it as it was, undefined when there is no live one. */
  readonly revoke: (linkId: string, nowMs: number) => Promise<Link | undefined>;
  /** As `revoke`, for whoever has the token to take it back; that token works once. */
  readonly undo: (undoHash: Uint8Array, nowMs: number) => Promise<Link | undefined>;
}

/**
 * A person may mistype or close a page, and start again; nobody needs more open attempts than this at once. As many that
 * have ended are kept, to say so to whoever comes back with one; those with an idempotency key are kept as long as it is.
 */
export const attemptsPerKeyMax = 20;
/** Links that ended are kept for whoever asks what happened, but not all of them. */
export const revokedPerKeyMax = 20;
