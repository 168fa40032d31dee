import type { Attempt, CallOutcome, CallRecord, CallState, UsageSource } from "../ledger/call-record.ts";

/** A call with its prices, as both databases give it. */
export interface CallRow {
  id: string;
  account_id: string;
  key_id: string;
  grant_id: string | null;
  client_name: string | null;
  operation_id: string;
  model: string | null;
  state: CallState;
  outcome: CallOutcome | null;
  held_micros: bigint;
  value_micros: bigint;
  charged_micros: bigint;
  written_off_micros: bigint;
  multiplier_ppm: bigint;
  price_version: string;
  unit_prices: string;
  used: string;
  usage_source: UsageSource;
  http_status: bigint | null;
  attempts: string;
  created_at_ms: bigint;
  settled_at_ms: bigint | null;
}

// The JSON columns are written by the ledger alone, from the very types they are read back into.
export const callOf = (row: CallRow): CallRecord => ({
  id: row.id,
  accountId: row.account_id,
  keyId: row.key_id,
  client: clientOf(row),
  operationId: row.operation_id,
  model: row.model ?? undefined,
  state: row.state,
  outcome: row.outcome ?? undefined,
  heldMicros: row.held_micros,
  valueMicros: row.value_micros,
  chargedMicros: row.charged_micros,
  writtenOffMicros: row.written_off_micros,
  multiplierPpm: row.multiplier_ppm,
  priceVersion: row.price_version,
  unitPricesPico: unitPricesOf(row.unit_prices),
  used: JSON.parse(row.used) as CallRecord["used"],
  usageSource: row.usage_source,
  httpStatus: row.http_status === null ? undefined : Number(row.http_status),
  attempts: JSON.parse(row.attempts) as Attempt[],
  createdAtMs: Number(row.created_at_ms),
  settledAtMs: row.settled_at_ms === null ? undefined : Number(row.settled_at_ms),
});

/** Grants are never removed, so each that a call names has its client's name. */
const clientOf = ({ grant_id: grantId, client_name: name }: CallRow): CallRecord["client"] =>
  grantId === null || name === null ? undefined : { grantId, name };

export function unitPricesOf(text: string): Record<string, bigint> {
  const prices = JSON.parse(text) as Record<string, string>;
  return Object.fromEntries(Object.entries(prices).map(([unit, pico]) => [unit, BigInt(pico)]));
}
