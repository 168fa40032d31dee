import type { HeldCall } from "./held-call.ts";

/** The columns of a call that are written when it is held, by the names that both stores give them when they are read. */
export interface HeldRow {
  id: string;
  account_id: string;
  key_id: string;
  operation_id: string;
  model: string | null;
  held_micros: bigint;
  price_version: string;
  multiplier_ppm: bigint;
  budget_day_start_ms: bigint | null;
  grant_id: string | null;
  run_id: bigint;
  created_at_ms: bigint;
}

export const heldCallOf = (row: HeldRow): HeldCall => ({
  callId: row.id,
  accountId: row.account_id,
  keyId: row.key_id,
  operationId: row.operation_id,
  model: row.model,
  heldMicros: row.held_micros,
  priceVersion: row.price_version,
  multiplierPpm: row.multiplier_ppm,
  budgetDayMs: row.budget_day_start_ms === null ? null : Number(row.budget_day_start_ms),
  grantId: row.grant_id,
  runId: row.run_id,
  createdAtMs: Number(row.created_at_ms),
  claim: undefined,
});
