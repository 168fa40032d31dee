/** A key is kept for a day after its call ended, and for as long as the call is open. */
export const idempotencyKeptMs = 24 * 60 * 60 * 1000;

/** Of calls that ended before ?1, at most ?2. */
export const forgetKeys = `
  DELETE FROM idempotency WHERE (account_id, key_hash) IN (
    SELECT idempotency.account_id, key_hash FROM idempotency JOIN call ON call.id = call_id
    WHERE idempotency.created_at_ms < ?1 AND settled_at_ms < ?1 LIMIT ?2)`;
