import type { GrantBook } from "../../grants/grants.ts";
import type { TokenBook } from "../../keys/token-book.ts";
import { grantOf, tokenCredentialOf, type GrantRow, type TokenColumns } from "../grant-rows.ts";
import type { Database } from "./server/database.ts";
import { credentialColumns, credentialOf, type CredentialRow } from "../key-rows.ts";

interface TokenRow extends CredentialRow, TokenColumns {}

export function createPostgresGrants(db: Database): GrantBook & TokenBook {
  return {
    create: (grant) =>
      db.write(async (query) => {
        const written = await query(sql.insert, [
          grant.id,
          grant.accountId,
          grant.keyId,
          grant.clientId,
          grant.clientName,
          grant.redirectHost,
          grant.scopes.join(" "),
          grant.spendPolicy.perCallMicros,
          grant.spendPolicy.perDayMicros,
          grant.createdAtMs,
          grant.spendPolicy.expiresAtMs,
        ]);
        return written.length === 1;
      }),
    find: async (grantId) => {
      const [row] = await db.read<GrantRow>(sql.find, [grantId]);
      return row && grantOf(row);
    },
    list: async (accountId) => {
      const rows = await (accountId === undefined
        ? db.readPatiently<GrantRow>(sql.listAll)
        : db.readPatiently<GrantRow>(sql.listOfAccount, [accountId]));
      return rows.map(grantOf);
    },
    revoke: (grantId, nowMs) =>
      db.write(async (query) => {
        // A hold has its account locked while it looks at the grant, so none that saw it alive comes after this.
        await query(sql.lockAccount, [grantId]);
        const [row] = await query<GrantRow>(sql.revoke, [nowMs, grantId]);
        // Whoever writes a record has its grant locked, so from here on there are no more than this sees.
        await query(sql.removeRecords, [grantId]);
        return row && grantOf(row);
      }),
    dayUse: async (grantId, dayStartMs) => {
      const [row] = await db.read<DayRow>(sql.dayUse, [grantId, dayStartMs]);
      return { spentMicros: row?.spent_micros ?? 0n, heldMicros: row?.held_micros ?? 0n };
    },
    findCredential: async (tokenHash, audience, nowMs) => {
      const [row] = await db.read<TokenRow>(sql.credential, [tokenHash, audience, nowMs]);
      return row && tokenCredentialOf(row, credentialOf(row));
    },
  };
}

interface DayRow {
  spent_micros: bigint;
  held_micros: bigint;
}

const columns = `id, account_id, key_id, client_id, client_name, redirect_host, scopes, per_call_micros,
                 per_day_micros, created_at_ms, expires_at_ms, revoked_at_ms`;
const newestFirst = "ORDER BY created_at_ms DESC, id";

const sql = {
  insert: `INSERT INTO oauth_grant (id, account_id, key_id, client_id, client_name, redirect_host, scopes,
                                    per_call_micros, per_day_micros, created_at_ms, expires_at_ms)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
           ON CONFLICT (id) DO NOTHING RETURNING id`,
  find: `SELECT ${columns} FROM oauth_grant WHERE id = $1`,
  listAll: `SELECT ${columns} FROM oauth_grant ${newestFirst}`,
  listOfAccount: `SELECT ${columns} FROM oauth_grant WHERE account_id = $1 ${newestFirst}`,
  lockAccount: `SELECT id FROM account WHERE id = (SELECT account_id FROM oauth_grant WHERE id = $1)
                FOR NO KEY UPDATE`,
  revoke: `UPDATE oauth_grant SET revoked_at_ms = coalesce(revoked_at_ms, $1) WHERE id = $2 RETURNING ${columns}`,
  removeRecords: "DELETE FROM sign_in_record WHERE grant_id = $1",
  dayUse: "SELECT spent_micros, held_micros FROM grant_day WHERE grant_id = $1 AND day_start_ms = $2",
  credential: `
    SELECT ${credentialColumns}, oauth_grant.id AS grant_id, client_id, client_name, sign_in_record.scope AS token_scope,
           per_call_micros, per_day_micros, sign_in_record.expires_at_ms AS token_expires_at_ms,
           oauth_grant.expires_at_ms AS grant_expires_at_ms
    FROM sign_in_record JOIN oauth_grant ON oauth_grant.id = sign_in_record.grant_id
         JOIN key ON key.id = oauth_grant.key_id JOIN account ON account.id = key.account_id
    WHERE kind = 'AccessToken' AND id_hash = $1 AND audience = $2 AND sign_in_record.expires_at_ms > $3
          AND oauth_grant.revoked_at_ms IS NULL`,
} as const;
