import type { Database } from "bun:sqlite";
import type { CallState } from "../../../ledger/call-record.ts";
import type { ProgressRow } from "../../call-ends.ts";
import type { HeldRow } from "../../held-call-rows.ts";
import { heldColumns } from "./call-rows.ts";
import { unexplainedHolds } from "../../audit-rules.ts";

export interface CallRow extends HeldRow {
  state: CallState;
  value_micros: bigint;
  charged_micros: bigint;
  written_off_micros: bigint;
}

/** What the ledger asks the books, prepared once. */
export function prepareLedger(db: Database) {
  return {
    grantLives: db.query<{ id: string }, [string, number]>(
      "SELECT id FROM oauth_grant WHERE id = ?1 AND revoked_at_ms IS NULL AND expires_at_ms > ?2",
    ),
    insertPrice: db.query<never, [string, string, string | null, string]>(
      "INSERT INTO price VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
    ),
    findCall: db.query<CallRow, [string]>(
      `SELECT ${heldColumns}, state, value_micros, charged_micros, written_off_micros FROM call WHERE id = ?1`,
    ),
    insertRun: db.query<{ id: bigint }, [number]>("INSERT INTO run (started_at_ms) VALUES (?1) RETURNING id"),
    unexplainedHolds: db.query<{ subject: string; detail: string }, []>(unexplainedHolds),
    progress: db.query<ProgressRow, [string]>(
      `SELECT progress, unit_prices FROM call JOIN price ON price.version = price_version
       WHERE id = ?1 AND settled_at_ms IS NULL`,
    ),
    orphans: db.query<HeldRow & ProgressRow, [bigint]>(
      `SELECT ${heldColumns}, progress, unit_prices FROM call JOIN price ON price.version = price_version
       WHERE settled_at_ms IS NULL AND run_id < ?1
         AND NOT EXISTS (SELECT 1 FROM task WHERE call_id = call.id AND ended_at_ms IS NULL)`,
    ),
  };
}
