import type { Database } from "bun:sqlite";
import type { Attempt, CallOutcome, CallRecord, CallState, UsageSource } from "../../ledger/call-record.ts";
import type { PostedBooks } from "./posted-books.ts";
import type { Claims } from "./claims.ts";
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

export function createSqliteCalls(db: Database, books: PostedBooks, claims: Claims): CallBook {
  const find = db.query<CallRow, [string, string]>(`${select} WHERE account_id = ?1 AND id = ?2`);
  const findAny = db.query<CallRow, [string]>(`${select} WHERE id = ?1`);
  const filter = `(?3 IS NULL OR call.operation_id = ?3) AND (?4 IS NULL OR state = ?4) AND (?5 IS NULL OR call.key_id = ?5)`;
  const listOpen = db.query<CallRow, ListParameters>(
    `${select} WHERE settled_at_ms IS NULL AND account_id = ?1 AND (?2 IS NULL OR id < ?2) AND ${filter}
     ORDER BY id DESC LIMIT ?6`,
  );
  // The order of these joins is the order of the loops: from the few rows of the list to the calls they name.
  const listEnded = db.query<CallRow, ListParameters>(
    `${selectFrom("account_call CROSS JOIN call ON call.id = account_call.call_id")}
     WHERE account_call.account_id = ?1 AND (?2 IS NULL OR account_call.call_id < ?2) AND ${filter}
     ORDER BY account_call.call_id DESC LIMIT ?6`,
  );
  // What waits to be listed; while it is moved to the list, a call may stand in both.
  const listWaiting = db.query<CallRow, ListParameters>(
    `${selectFrom(`unlisted CROSS JOIN json_each(unlisted.lists, '$."' || ?1 || '"') AS waiting CROSS JOIN call ON call.id = waiting.value`)}
     WHERE (?2 IS NULL OR call.id < ?2) AND ${filter} ORDER BY call.id DESC LIMIT ?6`,
  );
  const readLists = db.transaction((parameters: ListParameters): CallRow[] => {
    const rows = [listOpen, listEnded, listWaiting].flatMap((list) => list.all(...parameters));
    return [...new Map(rows.map((row) => [row.id, row])).values()];
  });
  const lookedUp = async (look: () => CallRow | null): Promise<CallRecord | undefined> => {
    // The row of an ended call never changes; whether another call is open, the journal knows.
    const ended = look();
    if (ended && ended.settled_at_ms !== null) return callOf(ended);
    const row = await books.read(look);
    return row ? callOf(row) : undefined;
  };
  return {
    findByKey: (accountId, keyHash) =>
      books.read(() => {
        const claimed = claims.find(accountId, keyHash);
        const row = claimed && find.get(accountId, claimed.callId);
        return row ? callOf(row) : undefined;
      }),
    find: (accountId, callId) => lookedUp(() => find.get(accountId, callId)),
    findAny: (callId) => lookedUp(() => findAny.get(callId)),
    list: (accountId, { before, operationId, status, keyId, limit }) =>
      books.read(() =>
        readLists([accountId, before ?? null, operationId ?? null, status ?? null, keyId ?? null, limit])
          .toSorted((a, b) => (a.id < b.id ? 1 : -1))
          .slice(0, limit)
          .map(callOf),
      ),
  };
}

const selectFrom = (calls: string): string => `
  SELECT call.id, call.account_id, call.key_id, call.operation_id, call.model, state, outcome, held_micros, call.value_micros,
         call.charged_micros, written_off_micros, multiplier_ppm, price_version, unit_prices, used, usage_source,
         http_status, attempts, created_at_ms, settled_at_ms
  FROM ${calls} JOIN price ON price.version = call.price_version`;
const select = selectFrom("call");

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
