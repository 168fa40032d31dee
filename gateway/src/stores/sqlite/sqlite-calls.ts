import type { Database } from "bun:sqlite";
import type { Attempt, CallOutcome, CallRecord, CallState, UsageSource } from "../../ledger/call-record.ts";
import type { CallBook } from "../../ledger/receipt.ts";

interface CallRow {
  id: string;
  account_id: string;
  key_id: string;
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

type ListParameters = [string, string | null, string | null, string | null, string | null, number];

export function createSqliteCalls(db: Database): CallBook {
  const find = db.query<CallRow, [string, string]>(`${select} WHERE account_id = ?1 AND id = ?2`);
  const list = db.query<CallRow, ListParameters>(
    `${select} WHERE account_id = ?1 AND (?2 IS NULL OR id < ?2) AND (?3 IS NULL OR call.operation_id = ?3)
       AND (?4 IS NULL OR state = ?4) AND (?5 IS NULL OR key_id = ?5)
     ORDER BY id DESC LIMIT ?6`,
  );
  const findByKey = db.query<CallRow, [string, Uint8Array]>(
    `${select} WHERE id = (SELECT call_id FROM idempotency WHERE account_id = ?1 AND key_hash = ?2)`,
  );
  return {
    findByKey: async (accountId, keyHash) => {
      const row = findByKey.get(accountId, keyHash);
      return row ? callOf(row) : undefined;
    },
    find: async (accountId, callId) => {
      const row = find.get(accountId, callId);
      return row ? callOf(row) : undefined;
    },
    list: async (accountId, filter) =>
      list
        .all(
          accountId,
          filter.before ?? null,
          filter.operationId ?? null,
          filter.status ?? null,
          filter.keyId ?? null,
          filter.limit,
        )
        .map(callOf),
  };
}

const select = `
  SELECT id, account_id, key_id, call.operation_id, call.model, state, outcome, held_micros, value_micros,
         charged_micros, written_off_micros, multiplier_ppm, price_version, unit_prices, used, usage_source,
         http_status, attempts, created_at_ms, settled_at_ms
  FROM call JOIN price ON price.version = call.price_version`;

// The JSON columns are written by the ledger alone, from the very types they are read back into.
const callOf = (row: CallRow): CallRecord => ({
  id: row.id,
  accountId: row.account_id,
  keyId: row.key_id,
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

export function unitPricesOf(text: string): Record<string, bigint> {
  const prices = JSON.parse(text) as Record<string, string>;
  return Object.fromEntries(Object.entries(prices).map(([unit, pico]) => [unit, BigInt(pico)]));
}
