import type { Database } from "bun:sqlite";
import type { Grant, GrantBook } from "../../grants/grants.ts";
import type { TokenBook } from "../../keys/token-book.ts";
import { grantOf, tokenCredentialOf, type GrantRow, type TokenColumns } from "../grant-rows.ts";
import type { PostedBooks } from "./journal/posted-books.ts";
import type { GroupCommit } from "./file/group-commit.ts";
import { credentialColumns, credentialOf, type CredentialRow } from "../key-rows.ts";

interface TokenRow extends CredentialRow, TokenColumns {}

export function createSqliteGrants(
  db: Database,
  commits: GroupCommit,
  books: PostedBooks,
): GrantBook & TokenBook {
  const sql = prepare(db);

  const find = (grantId: string): Grant | undefined => {
    const row = sql.find.get(grantId);
    return row ? grantOf(row) : undefined;
  };

  return {
    create: (grant) =>
      commits.run(() => {
        const { changes } = sql.insert.run(
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
        );
        return changes === 1;
      }),
    find: async (grantId) => find(grantId),
    list: async (accountId) =>
      (accountId === undefined ? sql.listAll.all() : sql.listOfAccount.all(accountId)).map(grantOf),
    revoke: (grantId, nowMs) =>
      commits.run(() => {
        sql.revoke.run(nowMs, grantId);
        sql.removeRecords.run(grantId);
        return find(grantId);
      }),
    dayUse: (grantId, dayStartMs) =>
      books.read(() => {
        const row = sql.dayUse.get(grantId, dayStartMs);
        return { spentMicros: row?.spent_micros ?? 0n, heldMicros: row?.held_micros ?? 0n };
      }),
    findCredential: async (tokenHash, audience, nowMs) => {
      const row = sql.credential.get(tokenHash, audience, nowMs);
      return row ? tokenCredentialOf(row, credentialOf(row)) : undefined;
    },
  };
}

function prepare(db: Database) {
  const columns = `id, account_id, key_id, client_id, client_name, redirect_host, scopes, per_call_micros,
                   per_day_micros, created_at_ms, expires_at_ms, revoked_at_ms`;
  const newestFirst = "ORDER BY created_at_ms DESC, id";
  return {
    insert: db.query<
      never,
      [
        id: string,
        accountId: string,
        keyId: string,
        clientId: string,
        clientName: string,
        redirectHost: string,
        scopes: string,
        perCallMicros: bigint,
        perDayMicros: bigint,
        createdAtMs: number,
        expiresAtMs: number,
      ]
    >(
      `INSERT INTO oauth_grant (id, account_id, key_id, client_id, client_name, redirect_host, scopes,
                                per_call_micros, per_day_micros, created_at_ms, expires_at_ms)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT (id) DO NOTHING`,
    ),
    find: db.query<GrantRow, [string]>(`SELECT ${columns} FROM oauth_grant WHERE id = ?1`),
    listAll: db.query<GrantRow, []>(`SELECT ${columns} FROM oauth_grant ${newestFirst}`),
    listOfAccount: db.query<GrantRow, [string]>(
      `SELECT ${columns} FROM oauth_grant WHERE account_id = ?1 ${newestFirst}`,
    ),
    revoke: db.query<never, [number, string]>(
      "UPDATE oauth_grant SET revoked_at_ms = coalesce(revoked_at_ms, ?1) WHERE id = ?2",
    ),
    removeRecords: db.query<never, [string]>("DELETE FROM sign_in_record WHERE grant_id = ?1"),
    dayUse: db.query<{ spent_micros: bigint; held_micros: bigint }, [string, number]>(
      "SELECT spent_micros, held_micros FROM grant_day WHERE grant_id = ?1 AND start_ms = ?2",
    ),
    credential: db.query<TokenRow, [Uint8Array, string, number]>(
      `SELECT ${credentialColumns}, oauth_grant.id AS grant_id, client_id, client_name, sign_in_record.scope AS token_scope,
              per_call_micros, per_day_micros, sign_in_record.expires_at_ms AS token_expires_at_ms,
              oauth_grant.expires_at_ms AS grant_expires_at_ms
       FROM sign_in_record JOIN oauth_grant ON oauth_grant.id = sign_in_record.grant_id
            JOIN key ON key.id = oauth_grant.key_id JOIN account ON account.id = key.account_id
       WHERE kind = 'AccessToken' AND id_hash = ?1 AND audience = ?2 AND sign_in_record.expires_at_ms > ?3
             AND oauth_grant.revoked_at_ms IS NULL`,
    ),
  };
}
