const attempt = `state_hash, key_id, account_id, upstream, scopes, salt, verifier, confirm, browser_hash,
                 created_at_ms, expires_at_ms, used_at_ms`;
const link = `id, key_id, account_id, upstream, user_id, username, scopes, version, salt, access_token,
              refresh_token, expires_at_ms, created_at_ms, lapsed_at_ms, revoked_at_ms`;
const newestFirst = "ORDER BY created_at_ms DESC, id DESC";

/** The statements of the links. What must happen once is guarded inside the updates, or by the lock before them. */
export const linkStatements = {
  lockAccount: "SELECT id FROM account WHERE id = $1 FOR NO KEY UPDATE",
  lockKey: "SELECT id FROM key WHERE id = $1 FOR NO KEY UPDATE",

  attempt: `SELECT ${attempt} FROM link_attempt WHERE state_hash = $1`,
  lockAttempt: `SELECT ${attempt} FROM link_attempt WHERE state_hash = $1 FOR UPDATE`,
  endOldClaim: "DELETE FROM link_attempt WHERE account_id = $1 AND key_hash = $2 AND expires_at_ms <= $3",
  insertAttempt: `
    INSERT INTO link_attempt (state_hash, id, key_id, account_id, upstream, scopes, salt, verifier, confirm,
                              key_hash, fingerprint, created_at_ms, expires_at_ms)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
  openAttempts: `
    SELECT count(*) AS n, min(expires_at_ms) AS first_end_ms FROM link_attempt
    WHERE key_id = $1 AND used_at_ms IS NULL AND expires_at_ms > $2`,
  forgetAttempts: `
    DELETE FROM link_attempt WHERE state_hash IN (
      SELECT state_hash FROM link_attempt
      WHERE key_id = $1 AND key_hash IS NULL AND (used_at_ms IS NOT NULL OR expires_at_ms <= $2)
      ORDER BY created_at_ms DESC, id DESC OFFSET $3)`,
  sweep: `
    WITH old AS MATERIALIZED (
      SELECT state_hash FROM link_attempt WHERE expires_at_ms < $1
      ORDER BY expires_at_ms LIMIT $2 FOR UPDATE SKIP LOCKED
    )
    DELETE FROM link_attempt WHERE state_hash IN (SELECT state_hash FROM old)`,
  bindBrowser: "UPDATE link_attempt SET browser_hash = $1 WHERE state_hash = $2 AND used_at_ms IS NULL",
  useAttempt:
    "UPDATE link_attempt SET used_at_ms = $1, verifier = $2 WHERE state_hash = $3 AND used_at_ms IS NULL",

  find: `SELECT ${link} FROM link WHERE id = $1`,
  lock: `SELECT ${link} FROM link WHERE id = $1 AND revoked_at_ms IS NULL FOR UPDATE`,
  live: `SELECT ${link} FROM link WHERE key_id = $1 AND upstream = $2 AND revoked_at_ms IS NULL`,
  lockLive: `SELECT ${link} FROM link WHERE key_id = $1 AND upstream = $2 AND revoked_at_ms IS NULL FOR UPDATE`,
  lockByUndo: `SELECT ${link} FROM link
               WHERE undo_hash = $1 AND undo_until_ms > $2 AND revoked_at_ms IS NULL FOR UPDATE`,
  list: `SELECT ${link} FROM link ${newestFirst}`,
  listOfAccount: `SELECT ${link} FROM link WHERE account_id = $1 ${newestFirst}`,
  listOfKey: `SELECT ${link} FROM link WHERE key_id = $1 ${newestFirst}`,
  insert: `
    INSERT INTO link (id, key_id, account_id, upstream, user_id, username, scopes, version, salt, access_token,
                      refresh_token, expires_at_ms, undo_hash, undo_until_ms, created_at_ms)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
  forgetRevoked: `
    DELETE FROM link WHERE id IN (
      SELECT id FROM link WHERE key_id = $1 AND revoked_at_ms IS NOT NULL
      ORDER BY revoked_at_ms DESC, id DESC OFFSET $2)`,
  setUser: "UPDATE link SET user_id = $1, username = $2 WHERE id = $3 AND revoked_at_ms IS NULL",
  claim: `UPDATE link SET renewing_until_ms = $1
          WHERE id = $2 AND version = $3 AND revoked_at_ms IS NULL AND coalesce(renewing_until_ms, 0) <= $4
          RETURNING id`,
  endClaim: "UPDATE link SET renewing_until_ms = NULL WHERE id = $1 AND version = $2",
  replace: `
    UPDATE link SET version = $1::bigint, salt = $2, access_token = $3, refresh_token = $4, expires_at_ms = $5,
                    scopes = $6, renewing_until_ms = NULL, lapsed_at_ms = NULL
    WHERE id = $7 AND version = $1::bigint - 1 AND revoked_at_ms IS NULL
    RETURNING id`,
  lapse: `UPDATE link SET lapsed_at_ms = $1, renewing_until_ms = NULL
          WHERE id = $2 AND version = $3 AND lapsed_at_ms IS NULL AND revoked_at_ms IS NULL`,
  revoke: `
    UPDATE link SET revoked_at_ms = $1, salt = $2, access_token = $2, refresh_token = NULL, undo_hash = NULL,
                    undo_until_ms = NULL, renewing_until_ms = NULL
    WHERE id = $3`,
} as const;
