import type { TokenGrant } from "../grants/grants.ts";
import type { TierLimits, TierName } from "../limits/tiers.ts";
import type { Micros } from "../platform/money.ts";
import type { Allowed } from "./allowed-names.ts";

export const keyScopes = ["key", "account"] as const;
export type KeyScope = (typeof keyScopes)[number];

export const budgetWindows = ["day", "month", "total"] as const;
export type BudgetWindow = (typeof budgetWindows)[number];

export interface Budget {
  readonly limitMicros: Micros;
  readonly window: BudgetWindow;
}

/** A key without its secret, which nobody keeps. */
export interface Key {
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  readonly scope: KeyScope;
  readonly budget: Budget | undefined;
  /** Patterns of the only models and operations it may call; undefined where it may call them all. */
  readonly allowedModels: readonly string[] | undefined;
  readonly allowedOperations: readonly string[] | undefined;
  readonly createdAtMs: number;
  readonly expiresAtMs: number | undefined;
  readonly revokedAtMs: number | undefined;
  /** The last characters of every secret it ever had, newest first; `liveSecrets` knows which of them work. */
  readonly secrets: readonly KeySecret[];
}

interface KeySecret {
  readonly last4: string;
  readonly createdAtMs: number;
  /** A rotated secret lives until here. */
  readonly expiresAtMs: number | undefined;
}

export interface NewKey {
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  readonly scope: KeyScope;
  readonly budget: Budget | undefined;
  readonly allowedModels?: readonly string[] | undefined;
  readonly allowedOperations?: readonly string[] | undefined;
  readonly expiresAtMs: number | undefined;
  readonly secretHash: Uint8Array;
  readonly last4: string;
  readonly nowMs: number;
}

export interface KeyChange {
  readonly name?: string;
  readonly scope?: KeyScope;
  readonly budget?: Budget | null;
  readonly allowedModels?: readonly string[] | null;
  readonly allowedOperations?: readonly string[] | null;
  readonly expiresAtMs?: number | null;
}

export interface KeyRotation {
  readonly keyId: string;
  readonly secretHash: Uint8Array;
  readonly last4: string;
  readonly nowMs: number;
  /** Until when the secrets of before still work. */
  readonly graceEndsAtMs: number;
}

/** Everything the life of a call needs to know about who calls, in one look-up. Never a balance. */
export interface Credential extends Allowed {
  readonly keyId: string;
  readonly accountId: string;
  readonly scope: KeyScope;
  readonly tier: TierName;
  readonly planMultiplierPpm: bigint;
  readonly suspended: boolean;
  readonly revoked: boolean;
  readonly expiresAtMs: number | undefined;
  readonly budget: Budget | undefined;
  /** Figures granted to this account in place of its tier's. */
  readonly grantedLimits: Partial<TierLimits>;
  /** What binds an access token beyond the key it was granted with; a key presented itself has none. */
  readonly grant: TokenGrant | undefined;
}

/** How a key stands against its budget in the current window. */
export interface BudgetUse {
  readonly spentMicros: Micros;
  readonly heldMicros: Micros;
}

/** Invariants: secrets are stored as keyed hashes only; a key's id never changes; revocation is for ever. */
export interface KeyBook {
  readonly issue: (key: NewKey) => Promise<Key | undefined>;
  readonly find: (keyId: string) => Promise<Key | undefined>;
  readonly list: (accountId: string | undefined) => Promise<readonly Key[]>;
  readonly update: (keyId: string, change: KeyChange) => Promise<Key | undefined>;
  readonly rotate: (rotation: KeyRotation) => Promise<Key | undefined>;
  readonly revoke: (keyId: string, nowMs: number) => Promise<Key | undefined>;
  /** What was spent and is held in the window that contains `nowMs`, whatever window the key's budget had meanwhile. */
  readonly budgetUse: (keyId: string, window: BudgetWindow, nowMs: number) => Promise<BudgetUse>;
  readonly findCredential: (secretHash: Uint8Array, nowMs: number) => Promise<Credential | undefined>;
}
