import type { Database } from "bun:sqlite";
import type { AttemptRow, LinkRow } from "../link-rows.ts";

/** The statements of the links, prepared once. What must happen once is guarded inside the updates. */
export function prepareLinks(db: Database) {
  const attempt = `state_hash, key_id, account_id, upstream, scopes, salt, verifier, confirm, browser_hash,
                   created_at_ms, expires_at_ms, used_at_ms`;
  const link = `id, key_id, account_id, upstream, user_id, username, scopes, version, salt, access_token,
                refresh_token, expires_at_ms, created_at_ms, lapsed_at_ms, revoked_at_ms`;
  return {
    attempt: db.query<AttemptRow, [Uint8Array]>(`SELECT ${attempt} FROM link_attempt WHERE state_hash = ?1`),
    endOldClaim: db.query<never, [string, Uint8Array, number]>(
      "DELETE FROM link_attempt WHERE account_id = ?1 AND key_hash = ?2 AND expires_at_ms <= ?3",
    ),
    insertAttempt: db.query<
      never,
      [
        stateHash: Uint8Array,
        id: string,
        keyId: string,
        accountId: string,
        upstream: string,
        scopes: string,
        salt: Uint8Array,
        verifier: Uint8Array,
        confirm: number,
        keyHash: Uint8Array | null,
        fingerprint: Uint8Array | null,
        createdAtMs: number,
        expiresAtMs: number,
      ]
    >(
      `INSERT INTO link_attempt (state_hash, id, key_id, account_id, upstream, scopes, salt, verifier, confirm,
                                 key_hash, fingerprint, created_at_ms, expires_at_ms)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)`,
    ),
    sweep: db.query<never, [number, number]>(
      `DELETE FROM link_attempt WHERE state_hash IN (
         SELECT state_hash FROM link_attempt WHERE expires_at_ms < ?1 LIMIT ?2)`,
    ),
    openAttempts: db.query<{ n: bigint; first_end_ms: bigint | null }, [string, number]>(
      `SELECT count(*) AS n, min(expires_at_ms) AS first_end_ms FROM link_attempt
       WHERE key_id = ?1 AND used_at_ms IS NULL AND expires_at_ms > ?2`,
    ),
    forgetAttempts: db.query<never, [string, number, number]>(
      `DELETE FROM link_attempt WHERE state_hash IN (
         SELECT state_hash FROM link_attempt
         WHERE key_id = ?1 AND key_hash IS NULL AND (used_at_ms IS NOT NULL OR expires_at_ms <= ?2)
         ORDER BY created_at_ms DESC, id DESC LIMIT -1 OFFSET ?3)`,
    ),
    bindBrowser: db.query<never, [Uint8Array, Uint8Array]>(
      "UPDATE link_attempt SET browser_hash = ?1 WHERE state_hash = ?2 AND used_at_ms IS NULL",
    ),
    useAttempt: db.query<never, [number, Uint8Array, Uint8Array]>(
      "UPDATE link_attempt SET used_at_ms = ?1, verifier = ?2 WHERE state_hash = ?3 AND used_at_ms IS NULL",
    ),

    find: db.query<LinkRow, [string]>(`SELECT ${link} FROM link WHERE id = ?1`),
    live: db.query<LinkRow, [string, string]>(
      `SELECT ${link} FROM link WHERE key_id = ?1 AND upstream = ?2 AND revoked_at_ms IS NULL`,
    ),
    byUndo: db.query<LinkRow, [Uint8Array, number]>(
      `SELECT ${link} FROM link WHERE undo_hash = ?1 AND undo_until_ms > ?2`,
    ),
    list: db.query<LinkRow, []>(`SELECT ${link} FROM link ORDER BY created_at_ms DESC, id DESC`),
    listOfAccount: db.query<LinkRow, [string]>(
      `SELECT ${link} FROM link WHERE account_id = ?1 ORDER BY created_at_ms DESC, id DESC`,
    ),
    listOfKey: db.query<LinkRow, [string]>(
      `SELECT ${link} FROM link WHERE key_id = ?1 ORDER BY created_at_ms DESC, id DESC`,
    ),
    insert: db.query<
      never,
      [
        id: string,
        keyId: string,
        accountId: string,
        upstream: string,
        userId: string | null,
        username: string | null,
        scopes: string,
        version: number,
        salt: Uint8Array,
        accessToken: Uint8Array,
        refreshToken: Uint8Array | null,
        expiresAtMs: number | null,
        undoHash: Uint8Array,
        undoUntilMs: number,
        createdAtMs: number,
      ]
    >(
      `INSERT INTO link (id, key_id, account_id, upstream, user_id, username, scopes, version, salt, access_token,
                         refresh_token, expires_at_ms, undo_hash, undo_until_ms, created_at_ms)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)`,
    ),
    forgetRevoked: db.query<never, [string, number]>(
      `DELETE FROM link WHERE id IN (
         SELECT id FROM link WHERE key_id = ?1 AND revoked_at_ms IS NOT NULL
         ORDER BY revoked_at_ms DESC, id DESC LIMIT -1 OFFSET ?2)`,
    ),
    setUser: db.query<never, [string, string, string]>(
      "UPDATE link SET user_id = ?1, username = ?2 WHERE id = ?3 AND revoked_at_ms IS NULL",
    ),
    claim: db.query<never, [number, string, number, number]>(
      `UPDATE link SET renewing_until_ms = ?1
       WHERE id = ?2 AND version = ?3 AND revoked_at_ms IS NULL AND coalesce(renewing_until_ms, 0) <= ?4`,
    ),
    endClaim: db.query<never, [string, number]>(
      "UPDATE link SET renewing_until_ms = NULL WHERE id = ?1 AND version = ?2",
    ),
    replace: db.query<
      never,
      [
        version: number,
        salt: Uint8Array,
        accessToken: Uint8Array,
        refreshToken: Uint8Array | null,
        expiresAtMs: number | null,
        scopes: string,
        id: string,
      ]
    >(
      `UPDATE link SET version = ?1, salt = ?2, access_token = ?3, refresh_token = ?4, expires_at_ms = ?5,
                       scopes = ?6, renewing_until_ms = NULL, lapsed_at_ms = NULL
       WHERE id = ?7 AND version = ?1 - 1 AND revoked_at_ms IS NULL`,
    ),
    lapse: db.query<never, [number, string, number]>(
      `UPDATE link SET lapsed_at_ms = ?1, renewing_until_ms = NULL
       WHERE id = ?2 AND version = ?3 AND lapsed_at_ms IS NULL AND revoked_at_ms IS NULL`,
    ),
    revoke: db.query<never, [number, Uint8Array, string]>(
      `UPDATE link SET revoked_at_ms = ?1, salt = ?2, access_token = ?2, refresh_token = NULL, undo_hash = NULL,
                       undo_until_ms = NULL, renewing_until_ms = NULL
       WHERE id = ?3 AND revoked_at_ms IS NULL`,
    ),
  };
}
