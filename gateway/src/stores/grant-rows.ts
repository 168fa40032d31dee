import { readScopes, type Grant } from "../grants/grants.ts";
import type { Credential } from "../keys/keys.ts";

export interface GrantRow {
  id: string;
  account_id: string;
  key_id: string;
  client_id: string;
  client_name: string;
  redirect_host: string;
  scopes: string;
  per_call_micros: bigint;
  per_day_micros: bigint;
  created_at_ms: bigint;
  expires_at_ms: bigint;
  revoked_at_ms: bigint | null;
}

/** What a token's row has besides its key's credential. */
export interface TokenColumns {
  grant_id: string;
  client_id: string;
  client_name: string;
  token_scope: string | null;
  per_call_micros: bigint;
  per_day_micros: bigint;
  token_expires_at_ms: bigint;
  grant_expires_at_ms: bigint;
}

export const grantOf = (row: GrantRow): Grant => ({
  id: row.id,
  accountId: row.account_id,
  keyId: row.key_id,
  clientId: row.client_id,
  clientName: row.client_name,
  redirectHost: row.redirect_host,
  scopes: readScopes(row.scopes),
  spendPolicy: {
    perCallMicros: row.per_call_micros,
    perDayMicros: row.per_day_micros,
    expiresAtMs: Number(row.expires_at_ms),
  },
  createdAtMs: Number(row.created_at_ms),
  revokedAtMs: row.revoked_at_ms === null ? undefined : Number(row.revoked_at_ms),
});

/** An access token is its key's, scope included, and lives no longer than its grant or that key. */
export function tokenCredentialOf(row: TokenColumns, key: Credential): Credential {
  const grantExpiresAtMs = Number(row.grant_expires_at_ms);
  return {
    ...key,
    expiresAtMs: Math.min(Number(row.token_expires_at_ms), grantExpiresAtMs, key.expiresAtMs ?? Infinity),
    grant: {
      id: row.grant_id,
      clientId: row.client_id,
      clientName: row.client_name,
      scopes: readScopes(row.token_scope ?? ""),
      spendPolicy: {
        perCallMicros: row.per_call_micros,
        perDayMicros: row.per_day_micros,
        expiresAtMs: grantExpiresAtMs,
      },
    },
  };
}
