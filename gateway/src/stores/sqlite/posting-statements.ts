import type { Database } from "bun:sqlite";
import { forgetKeys } from "./idempotency-rows.ts";
import type { EndRow, HeldRow } from "./posting.ts";

/** The statements that bring the books up to date, prepared once. The constraints of the tables guard them once more. */
export function preparePosting(db: Database) {
  return {
    insertOpen: db.query<
      never,
      [
        string,
        string,
        string,
        string,
        string | null,
        string,
        bigint,
        string,
        bigint,
        number | null,
        string | null,
        bigint,
        number,
        number | null,
        string | null,
      ]
    >(
      `INSERT INTO call (id, account_id, key_id, operation_id, model, state, held_micros, price_version, multiplier_ppm,
                         budget_window_start_ms, grant_id, run_id, created_at_ms, dispatched_at_ms, progress)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)`,
    ),
    insertEnded: db.query<
      never,
      [
        string,
        string,
        string,
        string,
        string | null,
        string,
        string,
        bigint,
        bigint,
        bigint,
        bigint,
        string,
        bigint,
        number | null,
        string | null,
        string,
        string,
        number | null,
        string,
        bigint,
        number,
        number | null,
        number,
      ]
    >(
      `INSERT INTO call (id, account_id, key_id, operation_id, model, state, outcome, held_micros, value_micros,
                         charged_micros, written_off_micros, price_version, multiplier_ppm, budget_window_start_ms,
                         grant_id, used, usage_source, http_status, attempts, run_id, created_at_ms, dispatched_at_ms,
                         settled_at_ms)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23)`,
    ),
    endRow: db.query<
      never,
      [
        string,
        string,
        bigint,
        bigint,
        bigint,
        string,
        string,
        number | null,
        string,
        number | null,
        number,
        string,
      ]
    >(
      `UPDATE call SET state = ?1, outcome = ?2, value_micros = ?3, charged_micros = ?4, written_off_micros = ?5,
                       used = ?6, usage_source = ?7, http_status = ?8, attempts = ?9,
                       dispatched_at_ms = coalesce(dispatched_at_ms, ?10), settled_at_ms = ?11
       WHERE id = ?12 AND settled_at_ms IS NULL`,
    ),
    markSent: db.query<never, [number, string]>(
      "UPDATE call SET state = 'dispatched', dispatched_at_ms = ?1 WHERE id = ?2 AND state = 'held'",
    ),
    noteProgress: db.query<never, [string, string]>(
      "UPDATE call SET progress = ?1 WHERE id = ?2 AND settled_at_ms IS NULL",
    ),
    moveAccount: db.query<never, [bigint, bigint, bigint | null, bigint | null, string]>(
      `UPDATE account SET posted_micros = posted_micros + ?1, held_micros = held_micros + ?2,
                          charge_carry_atto = coalesce(?3, charge_carry_atto),
                          value_carry_pico = coalesce(?4, value_carry_pico) WHERE id = ?5`,
    ),
    openBudget: db.query<never, [string, number, bigint, bigint]>(
      "INSERT INTO budget VALUES (?1, ?2, ?3, ?4)",
    ),
    moveBudget: db.query<never, [bigint, bigint, string, number]>(
      `UPDATE budget SET spent_micros = spent_micros + ?1, held_micros = held_micros + ?2
       WHERE key_id = ?3 AND window_start_ms = ?4`,
    ),
    openGrantDay: db.query<never, [string, number, bigint, bigint]>(
      "INSERT INTO grant_day VALUES (?1, ?2, ?3, ?4)",
    ),
    moveGrantDay: db.query<never, [bigint, bigint, string, number]>(
      `UPDATE grant_day SET spent_micros = spent_micros + ?1, held_micros = held_micros + ?2
       WHERE grant_id = ?3 AND start_ms = ?4`,
    ),
    addToBucket: db.query<
      never,
      [number, number, string, string, number, number, number, number, number, number, bigint, bigint]
    >(
      `INSERT INTO usage_bucket (width_seconds, start_seconds, account_id, key_id, ${figures.join(", ")})
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
       ON CONFLICT DO UPDATE SET ${figures.map((each) => `${each} = ${each} + excluded.${each}`).join(", ")}`,
    ),
    listCall: db.query<never, [string, string]>("INSERT INTO account_call VALUES (?1, ?2)"),
    claimKey: db.query<never, [string, Uint8Array, Uint8Array, string, number]>(
      "INSERT OR REPLACE INTO idempotency VALUES (?1, ?2, ?3, ?4, ?5)",
    ),
    freeKey: db.query<never, [string, Uint8Array, string]>(
      "DELETE FROM idempotency WHERE account_id = ?1 AND key_hash = ?2 AND call_id = ?3",
    ),
    forgetKeys: db.query<never, [number, number]>(forgetKeys),
    findHeld: db.query<HeldRow, [string]>(
      `SELECT id, account_id, key_id, operation_id, model, held_micros, price_version, multiplier_ppm,
              budget_window_start_ms, grant_id, run_id, created_at_ms
       FROM call WHERE id = ?1`,
    ),
    findEnd: db.query<EndRow, [string]>(
      `SELECT state, outcome, value_micros, charged_micros, written_off_micros, used, usage_source, http_status, attempts,
              dispatched_at_ms, settled_at_ms
       FROM call WHERE id = ?1 AND settled_at_ms IS NOT NULL`,
    ),
  };
}

const figures = [
  "requests",
  "failed_requests",
  "input_tokens",
  "output_tokens",
  "cache_read_tokens",
  "cache_write_tokens",
  "value_micros",
  "charged_micros",
] as const;
