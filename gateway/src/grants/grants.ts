import { lifeOf, type Life, type Mortal } from "../platform/life.ts";
import type { Micros } from "../platform/money.ts";

/** What a person can allow a client to do. Spending implies reading. */
export const grantScopes = ["tools:read", "tools:spend"] as const;
export type GrantScope = (typeof grantScopes)[number];

/** How much a client may spend without asking again, and until when anything at all. */
export interface SpendPolicy {
  /** A dearer call needs a person's approval. */
  readonly perCallMicros: Micros;
  /** A hard bound per UTC day, approvals or not. */
  readonly perDayMicros: Micros;
  /** Afterwards the client has to be let in anew. */
  readonly expiresAtMs: number;
}

/** What a person allowed one client to do with the account of the key they signed in with. */
export interface Grant {
  readonly id: string;
  readonly accountId: string;
  /** The key used at sign-in: its limits and budget bind the grant too, and its end is the grant's end. */
  readonly keyId: string;
  readonly clientId: string;
  readonly clientName: string;
  readonly redirectHost: string;
  readonly scopes: readonly GrantScope[];
  readonly spendPolicy: SpendPolicy;
  readonly createdAtMs: number;
  readonly revokedAtMs: number | undefined;
}

export const lifeOfGrant = ({ revokedAtMs, spendPolicy: { expiresAtMs } }: Grant, nowMs: number): Life =>
  lifeOf({ revokedAtMs, expiresAtMs }, nowMs);

/** As people are told it: a grant that its own row lets live has ended with the key used at sign-in. */
export function lifeWithKey(grant: Grant, key: Mortal | undefined, nowMs: number): Life {
  const own = lifeOfGrant(grant, nowMs);
  return own === "active" && key ? lifeOf(key, nowMs) : own;
}

/** When it ends by itself: at its own time, or with the key where that is sooner. */
export const expiryWithKeyMs = ({ spendPolicy }: Grant, key: Mortal | undefined): number =>
  Math.min(spendPolicy.expiresAtMs, key?.expiresAtMs ?? Infinity);

/** The grant behind a presented access token. A token may carry fewer scopes than its grant, never more. */
export interface TokenGrant {
  readonly id: string;
  readonly clientId: string;
  readonly clientName: string;
  readonly scopes: readonly GrantScope[];
  readonly spendPolicy: SpendPolicy;
}

/** What a hold has to know of a grant. */
export interface DayBound {
  readonly id: string;
  readonly perDayMicros: Micros;
}

export const dayBoundOf = ({ id, spendPolicy: { perDayMicros } }: TokenGrant): DayBound => ({
  id,
  perDayMicros,
});

/** How a grant stands against its bound of one day. */
export interface DayUse {
  readonly spentMicros: Micros;
  readonly heldMicros: Micros;
}

/** Invariants: a grant's policy never changes; revocation is for ever, and ends every token and every new hold at once. */
export interface GrantBook {
  /** False, and nothing is written, when there is one with this id: the first stands, also when it has ended. */
  readonly create: (grant: Omit<Grant, "revokedAtMs">) => Promise<boolean>;
  readonly find: (grantId: string) => Promise<Grant | undefined>;
  /** Newest first. */
  readonly list: (accountId: string | undefined) => Promise<readonly Grant[]>;
  /** Undefined when there is no such grant; the first revocation stands. */
  readonly revoke: (grantId: string, nowMs: number) => Promise<Grant | undefined>;
  readonly dayUse: (grantId: string, dayStartMs: number) => Promise<DayUse>;
}

/** The scopes of ours among those of a token, with what they imply. */
export function readScopes(written: string): readonly GrantScope[] {
  const words = new Set(written.split(" "));
  if (words.has("tools:spend")) return grantScopes;
  return words.has("tools:read") ? ["tools:read"] : [];
}
