import type { Database } from "bun:sqlite";
import type { CallOutcome, CallState } from "../../ledger/call-record.ts";
import { unexplainedHolds } from "./sqlite-audit.ts";

/** What the end of a call needs to know of its beginning; none of it ever changes. */
export interface HeldCall {
  account_id: string;
  key_id: string;
  held_micros: bigint;
  multiplier_ppm: bigint;
  budget_window_start_ms: bigint | null;
  grant_id: string | null;
  created_at_ms: bigint;
}

export interface CallRow extends HeldCall {
  state: CallState;
  value_micros: bigint;
  charged_micros: bigint;
  written_off_micros: bigint;
}

/** The statements of the ledger, prepared once. The guards against overspending stand inside the updates. */
export function prepareLedger(db: Database) {
  return {
    callState: db.query<{ state: CallState }, [string]>("SELECT state FROM call WHERE id = ?1"),
    takeFromAccount: db.query<never, [bigint, string]>(
      `UPDATE account SET held_micros = held_micros + ?1
       WHERE id = ?2 AND suspended = 0 AND posted_micros - held_micros >= ?1`,
    ),
    giveBackToAccount: db.query<never, [bigint, string]>(
      "UPDATE account SET held_micros = held_micros - ?1 WHERE id = ?2",
    ),
    availability: db.query<{ suspended: bigint; available_micros: bigint }, [string]>(
      "SELECT suspended, posted_micros - held_micros AS available_micros FROM account WHERE id = ?1",
    ),
    openBudget: db.query<never, [string, number]>(
      "INSERT INTO budget VALUES (?1, ?2, 0, 0) ON CONFLICT DO NOTHING",
    ),
    takeFromBudget: db.query<never, [bigint, string, number, bigint]>(
      `UPDATE budget SET held_micros = held_micros + ?1
       WHERE key_id = ?2 AND window_start_ms = ?3 AND spent_micros + held_micros + ?1 <= ?4`,
    ),
    budgetUse: db.query<{ spent_micros: bigint; held_micros: bigint }, [string, number]>(
      "SELECT spent_micros, held_micros FROM budget WHERE key_id = ?1 AND window_start_ms = ?2",
    ),
    grantLives: db.query<{ id: string }, [string, number]>(
      "SELECT id FROM oauth_grant WHERE id = ?1 AND revoked_at_ms IS NULL AND expires_at_ms > ?2",
    ),
    openGrantDay: db.query<never, [string, number]>(
      "INSERT INTO grant_day VALUES (?1, ?2, 0, 0) ON CONFLICT DO NOTHING",
    ),
    takeFromGrantDay: db.query<never, [bigint, string, number, bigint]>(
      `UPDATE grant_day SET held_micros = held_micros + ?1
       WHERE grant_id = ?2 AND start_ms = ?3 AND spent_micros + held_micros + ?1 <= ?4`,
    ),
    grantDayUse: db.query<{ spent_micros: bigint; held_micros: bigint }, [string, number]>(
      "SELECT spent_micros, held_micros FROM grant_day WHERE grant_id = ?1 AND start_ms = ?2",
    ),
    insertPrice: db.query<never, [string, string, string | null, string]>(
      "INSERT INTO price VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
    ),
    insertCall: db.query<
      never,
      [
        string,
        string,
        string,
        string,
        string | null,
        bigint,
        string,
        bigint,
        number | null,
        bigint,
        number,
        string | null,
      ]
    >(
      `INSERT INTO call (id, account_id, key_id, operation_id, model, state, held_micros, price_version,
                         multiplier_ppm, budget_window_start_ms, run_id, created_at_ms, grant_id)
       VALUES (?1, ?2, ?3, ?4, ?5, 'held', ?6, ?7, ?8, ?9, ?10, ?11, ?12) ON CONFLICT DO NOTHING`,
    ),
    earlier: db.query<
      {
        call_id: string;
        fingerprint: Uint8Array;
        state: CallState;
        outcome: CallOutcome | null;
        charged_micros: bigint;
        settled_at_ms: bigint | null;
      },
      [string, Uint8Array]
    >(
      `SELECT call_id, fingerprint, state, outcome, charged_micros, settled_at_ms
       FROM idempotency JOIN call ON call.id = call_id WHERE idempotency.account_id = ?1 AND key_hash = ?2`,
    ),
    claimKey: db.query<never, [string, Uint8Array, Uint8Array, string, number]>(
      "INSERT OR REPLACE INTO idempotency VALUES (?1, ?2, ?3, ?4, ?5)",
    ),
    freeKey: db.query<never, [string, Uint8Array, string]>(
      "DELETE FROM idempotency WHERE account_id = ?1 AND key_hash = ?2 AND call_id = ?3",
    ),
    forgetKeys: db.query<never, [number, number]>(
      `DELETE FROM idempotency WHERE (account_id, key_hash) IN (
         SELECT idempotency.account_id, key_hash FROM idempotency JOIN call ON call.id = call_id
         WHERE idempotency.created_at_ms < ?1 AND settled_at_ms < ?1 LIMIT ?2)`,
    ),
    markDispatched: db.query<never, [number, string]>(
      "UPDATE call SET state = 'dispatched', dispatched_at_ms = ?1 WHERE id = ?2 AND state = 'held'",
    ),
    findCall: db.query<CallRow, [string]>(
      `SELECT account_id, key_id, state, held_micros, value_micros, charged_micros, written_off_micros, multiplier_ppm,
              budget_window_start_ms, grant_id, created_at_ms
       FROM call WHERE id = ?1`,
    ),
    carry: db.query<{ charge_carry_atto: bigint; value_carry_pico: bigint }, [string]>(
      "SELECT charge_carry_atto, value_carry_pico FROM account WHERE id = ?1",
    ),
    endCall: db.query<
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
    chargeAccount: db.query<never, [bigint, bigint, bigint, bigint, string]>(
      `UPDATE account SET posted_micros = posted_micros - ?1, held_micros = held_micros - ?2,
                          charge_carry_atto = ?3, value_carry_pico = ?4 WHERE id = ?5`,
    ),
    chargeBudget: db.query<never, [bigint, bigint, string, bigint]>(
      `UPDATE budget SET spent_micros = spent_micros + ?1, held_micros = held_micros - ?2
       WHERE key_id = ?3 AND window_start_ms = ?4`,
    ),
    chargeGrantDay: db.query<never, [bigint, bigint, string, number]>(
      `UPDATE grant_day SET spent_micros = spent_micros + ?1, held_micros = held_micros - ?2
       WHERE grant_id = ?3 AND start_ms = ?4`,
    ),
    /** Both sides of a transfer: what leaves one party comes to the other. */
    insertEntries: db.query<never, [string, string, string, string, bigint, number]>(
      `INSERT INTO entry (transfer_id, kind, party, amount_micros, created_at_ms)
       VALUES (?1, ?2, ?3, -?5, ?6), (?1, ?2, ?4, ?5, ?6)`,
    ),
    insertRun: db.query<{ id: bigint }, [number]>("INSERT INTO run (started_at_ms) VALUES (?1) RETURNING id"),
    unexplainedHolds: db.query<{ subject: string; detail: string }, []>(unexplainedHolds),
    noteProgress: db.query<never, [string, string]>(
      "UPDATE call SET progress = ?1 WHERE id = ?2 AND settled_at_ms IS NULL",
    ),
    orphans: db.query<
      { id: string; held_micros: bigint; progress: string | null; unit_prices: string },
      [bigint]
    >(
      `SELECT id, held_micros, progress, unit_prices FROM call JOIN price ON price.version = price_version
       WHERE settled_at_ms IS NULL AND run_id < ?1
         AND NOT EXISTS (SELECT 1 FROM task WHERE call_id = call.id AND ended_at_ms IS NULL)`,
    ),
  };
}
