import type { Database } from "bun:sqlite";
import { heldCallOf, type HeldRow } from "../../held-call-rows.ts";
import type { CallEnd, HeldCall } from "../../held-call.ts";
import type { SheetCall } from "./sheet.ts";

/** The rows of calls. One that ends on the sheet it was held on is written once, with its end. */
export interface CallRows {
  /** From now on the row never changes. */
  readonly writeEnd: (call: SheetCall, end: CallEnd) => void;
  readonly writeOpen: (call: SheetCall) => void;
  readonly findHeld: (callId: string) => HeldCall;
  /** What the row says of the call's end. */
  readonly findEnd: (callId: string) => Omit<CallEnd, "carry" | "freedKeyHash">;
}

export function createCallRows(db: Database): CallRows {
  const sql = prepare(db);

  const writeEnd = ({ held, isNew, dispatchedAtMs }: SheetCall, end: CallEnd): void => {
    if (isNew) insertEnded(held, end, dispatchedAtMs);
    else endRow(held, end, dispatchedAtMs);
  };

  const writeOpen = ({ held, isNew, dispatchedAtMs, progress }: SheetCall): void => {
    if (isNew) return insertOpen(held, dispatchedAtMs, progress && JSON.stringify(progress));
    if (dispatchedAtMs !== null) sql.markDispatched.run(dispatchedAtMs, held.callId);
    if (progress) sql.noteProgress.run(JSON.stringify(progress), held.callId);
  };

  const insertOpen = (held: HeldCall, dispatchedAtMs: number | null, progress: string | undefined): void => {
    sql.insertOpen.run(
      held.callId,
      held.accountId,
      held.keyId,
      held.operationId,
      held.model,
      dispatchedAtMs === null ? "held" : "dispatched",
      held.heldMicros,
      held.priceVersion,
      held.multiplierPpm,
      held.budgetDayMs,
      held.grantId,
      held.runId,
      held.createdAtMs,
      dispatchedAtMs,
      progress ?? null,
    );
  };

  const insertEnded = (held: HeldCall, end: CallEnd, dispatchedAtMs: number | null): void => {
    sql.insertEnded.run(
      held.callId,
      held.accountId,
      held.keyId,
      held.operationId,
      held.model,
      end.state,
      end.outcome,
      held.heldMicros,
      end.valueMicros,
      end.chargedMicros,
      end.writtenOffMicros,
      held.priceVersion,
      held.multiplierPpm,
      held.budgetDayMs,
      held.grantId,
      JSON.stringify(end.used),
      end.usageSource,
      end.httpStatus,
      JSON.stringify(end.attempts),
      held.runId,
      held.createdAtMs,
      dispatchedAtMs ?? end.dispatchedAtMs,
      end.settledAtMs,
    );
  };

  const endRow = (held: HeldCall, end: CallEnd, dispatchedAtMs: number | null): void => {
    const written = sql.endRow.run(
      end.state,
      end.outcome,
      end.valueMicros,
      end.chargedMicros,
      end.writtenOffMicros,
      JSON.stringify(end.used),
      end.usageSource,
      end.httpStatus,
      JSON.stringify(end.attempts),
      dispatchedAtMs ?? end.dispatchedAtMs,
      end.settledAtMs,
      held.callId,
    );
    changedOne(written, held.callId);
  };

  const findHeld = (callId: string): HeldCall => {
    const row = sql.findHeld.get(callId);
    if (!row) throw new Error(`The journal names a call ${callId} that the books do not have.`);
    return heldCallOf(row);
  };

  const findEnd: CallRows["findEnd"] = (callId) => {
    const row = sql.findEnd.get(callId);
    if (!row) throw new Error(`The journal says that the call ${callId} has ended, and its row does not.`);
    return endOf(row);
  };

  return { writeEnd, writeOpen, findHeld, findEnd };
}

/** The books disagree with the journal: better stopped than wrong. */
export function changedOne({ changes }: { readonly changes: number }, name: string): void {
  if (changes !== 1) throw new Error(`The journal cannot be posted: the books have no open ${name}.`);
}

/** The columns of a `HeldRow`. In the file the day bears the name it got when the whole window of a budget was one row. */
export const heldColumns = `
  call.id, account_id, key_id, call.operation_id, call.model, held_micros, price_version, multiplier_ppm,
  budget_window_start_ms AS budget_day_start_ms, grant_id, run_id, created_at_ms`;

interface EndRow {
  state: CallEnd["state"];
  outcome: CallEnd["outcome"];
  value_micros: bigint;
  charged_micros: bigint;
  written_off_micros: bigint;
  used: string;
  usage_source: CallEnd["usageSource"];
  http_status: bigint | null;
  attempts: string;
  dispatched_at_ms: bigint | null;
  settled_at_ms: bigint;
}

// The JSON columns are written here alone, from the very types they are read back into.
const endOf = (row: EndRow): ReturnType<CallRows["findEnd"]> => ({
  state: row.state,
  outcome: row.outcome,
  valueMicros: row.value_micros,
  chargedMicros: row.charged_micros,
  writtenOffMicros: row.written_off_micros,
  used: JSON.parse(row.used) as CallEnd["used"],
  usageSource: row.usage_source,
  httpStatus: row.http_status === null ? null : Number(row.http_status),
  attempts: JSON.parse(row.attempts) as CallEnd["attempts"],
  dispatchedAtMs: row.dispatched_at_ms === null ? null : Number(row.dispatched_at_ms),
  settledAtMs: Number(row.settled_at_ms),
});

function prepare(db: Database) {
  return {
    insertOpen: db.query<
      never,
      [
        callId: string,
        accountId: string,
        keyId: string,
        operationId: string,
        model: string | null,
        state: string,
        heldMicros: bigint,
        priceVersion: string,
        multiplierPpm: bigint,
        budgetDayMs: number | null,
        grantId: string | null,
        runId: bigint,
        createdAtMs: number,
        dispatchedAtMs: number | null,
        progress: string | null,
      ]
    >(
      `INSERT INTO call (id, account_id, key_id, operation_id, model, state, held_micros, price_version, multiplier_ppm,
                         budget_window_start_ms, grant_id, run_id, created_at_ms, dispatched_at_ms, progress)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)`,
    ),
    insertEnded: db.query<
      never,
      [
        callId: string,
        accountId: string,
        keyId: string,
        operationId: string,
        model: string | null,
        state: string,
        outcome: string,
        heldMicros: bigint,
        valueMicros: bigint,
        chargedMicros: bigint,
        writtenOffMicros: bigint,
        priceVersion: string,
        multiplierPpm: bigint,
        budgetDayMs: number | null,
        grantId: string | null,
        used: string,
        usageSource: string,
        httpStatus: number | null,
        attempts: string,
        runId: bigint,
        createdAtMs: number,
        dispatchedAtMs: number | null,
        settledAtMs: number,
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
        state: string,
        outcome: string,
        valueMicros: bigint,
        chargedMicros: bigint,
        writtenOffMicros: bigint,
        used: string,
        usageSource: string,
        httpStatus: number | null,
        attempts: string,
        dispatchedAtMs: number | null,
        settledAtMs: number,
        callId: string,
      ]
    >(
      `UPDATE call SET state = ?1, outcome = ?2, value_micros = ?3, charged_micros = ?4, written_off_micros = ?5,
                       used = ?6, usage_source = ?7, http_status = ?8, attempts = ?9,
                       dispatched_at_ms = coalesce(dispatched_at_ms, ?10), settled_at_ms = ?11
       WHERE id = ?12 AND settled_at_ms IS NULL`,
    ),
    markDispatched: db.query<never, [number, string]>(
      "UPDATE call SET state = 'dispatched', dispatched_at_ms = ?1 WHERE id = ?2 AND state = 'held'",
    ),
    noteProgress: db.query<never, [string, string]>(
      "UPDATE call SET progress = ?1 WHERE id = ?2 AND settled_at_ms IS NULL",
    ),
    findHeld: db.query<HeldRow, [string]>(`SELECT ${heldColumns} FROM call WHERE id = ?1`),
    findEnd: db.query<EndRow, [string]>(
      `SELECT state, outcome, value_micros, charged_micros, written_off_micros, used, usage_source, http_status, attempts,
              dispatched_at_ms, settled_at_ms
       FROM call WHERE id = ?1 AND settled_at_ms IS NOT NULL`,
    ),
  };
}
