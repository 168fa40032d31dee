import type { FoundAttempt, Link, LinkAttempt } from "../links/links.ts";

/**
 * Attempts are kept for as long after their end as idempotency keys are, and told to whoever repeats theirs. Older ones are
 * swept a few at a time by those who bring new ones, so the table stays bounded.
 */
export const attemptsSweptAtOnce = 20;
/** What stands where a secret stood. */
export const nothing = new Uint8Array();

export interface AttemptRow {
  state_hash: Uint8Array;
  key_id: string;
  account_id: string;
  upstream: string;
  scopes: string;
  salt: Uint8Array;
  verifier: Uint8Array;
  /** A number in SQLite, which has no booleans. */
  confirm: bigint | boolean;
  browser_hash: Uint8Array | null;
  created_at_ms: bigint;
  expires_at_ms: bigint;
  used_at_ms: bigint | null;
}

export interface LinkRow {
  id: string;
  key_id: string;
  account_id: string;
  upstream: string;
  user_id: string | null;
  username: string | null;
  scopes: string;
  version: bigint;
  salt: Uint8Array;
  access_token: Uint8Array;
  refresh_token: Uint8Array | null;
  expires_at_ms: bigint | null;
  created_at_ms: bigint;
  lapsed_at_ms: bigint | null;
  revoked_at_ms: bigint | null;
}

export function foundAttempt(row: AttemptRow | null | undefined, nowMs: number): FoundAttempt {
  if (!row) return { kind: "unknown" };
  const expiresAtMs = Number(row.expires_at_ms);
  const usedAtMs = numberOf(row.used_at_ms);
  if ((usedAtMs ?? nowMs) >= expiresAtMs) return { kind: "expired" };
  return usedAtMs === undefined ? { kind: "open", attempt: attemptOf(row) } : { kind: "used" };
}

const attemptOf = (row: AttemptRow): LinkAttempt => ({
  stateHash: row.state_hash,
  keyId: row.key_id,
  accountId: row.account_id,
  upstream: row.upstream,
  scopes: scopesOf(row.scopes),
  salt: row.salt,
  verifier: row.verifier,
  confirm: Boolean(row.confirm),
  browserHash: row.browser_hash ?? undefined,
  createdAtMs: Number(row.created_at_ms),
  expiresAtMs: Number(row.expires_at_ms),
});

export const linkOf = (row: LinkRow): Link => ({
  id: row.id,
  keyId: row.key_id,
  accountId: row.account_id,
  upstream: row.upstream,
  user:
    row.user_id === null || row.username === null ? undefined : { id: row.user_id, username: row.username },
  scopes: scopesOf(row.scopes),
  tokens: {
    version: Number(row.version),
    salt: row.salt,
    access: row.access_token,
    refresh: row.refresh_token ?? undefined,
    expiresAtMs: numberOf(row.expires_at_ms),
  },
  createdAtMs: Number(row.created_at_ms),
  lapsedAtMs: numberOf(row.lapsed_at_ms),
  revokedAtMs: numberOf(row.revoked_at_ms),
});

/** Written from a list of strings by this store, and by nobody else. */
const scopesOf = (text: string): string[] => JSON.parse(text) as string[];

const numberOf = (value: bigint | null): number | undefined => (value === null ? undefined : Number(value));
