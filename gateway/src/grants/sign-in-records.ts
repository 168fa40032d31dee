/** What the authorization server remembers between two requests, as the store keeps it. */
export interface SignInRecord {
  /** Which of its models: AccessToken, RefreshToken, AuthorizationCode, Client, Interaction … */
  readonly kind: string;
  /** The id is a bearer secret for most kinds, so only its keyed hash is kept. */
  readonly idHash: Uint8Array;
  readonly grantId: string | undefined;
  /** What the hot path needs to know of an access token without opening anything. */
  readonly scope: string | undefined;
  readonly audience: string | undefined;
  /** Everything else, sealed under the installation's secret. */
  readonly sealed: Uint8Array;
  readonly expiresAtMs: number;
}

export interface FoundRecord {
  readonly sealed: Uint8Array;
  readonly consumedAtMs: number | undefined;
}

/** Registered clients nobody has used yet; beyond these a flood is under way, and the oldest of them give way. */
export const unusedClientsMax = 10_000;

/**
 * Invariants: a record past its time is not found; a record of a revoked grant is not found and cannot be
 * written; from the rows alone no token, code or session can be made.
 */
export interface SignInRecords {
  /** False, and nothing is written, when its grant has ended. */
  readonly put: (record: SignInRecord, nowMs: number) => Promise<boolean>;
  readonly find: (kind: string, idHash: Uint8Array, nowMs: number) => Promise<FoundRecord | undefined>;
  /** True for the first use, whose time stands; of two at once one is the first. */
  readonly consume: (kind: string, idHash: Uint8Array, nowMs: number) => Promise<boolean>;
  readonly remove: (kind: string, idHash: Uint8Array) => Promise<void>;
  /** Lets a record live longer, because it turned out to be used. False when there is none. */
  readonly extend: (kind: string, idHash: Uint8Array, expiresAtMs: number) => Promise<boolean>;
  /** Forgets the oldest of a kind that were never consumed, so that no more than `most` are left. */
  readonly keepUnused: (kind: string, most: number) => Promise<void>;
}
