import type { CallRecord } from "../../ledger/call-record.ts";
import { keepsKey } from "../../ledger/idempotency-key.ts";
import type { CallBook, CallPage, CallFilter } from "../../ledger/call-book.ts";
import { behindAllIds, clientName, lookedThroughUsualMax, openStates, stateNow } from "../call-pages.ts";
import { callOf, type CallRow } from "../call-record-rows.ts";
import type { Database } from "./server/database.ts";
import type { Value } from "./server/query.ts";

export function createPostgresCalls(db: Database, lookedThroughMax = lookedThroughUsualMax): CallBook {
  const findOne = async (rest: string, values: readonly Value[]): Promise<CallRecord | undefined> => {
    const [row] = await db.read<CallRow>(`${selectFrom("call")} ${rest}`, values);
    return row && callOf(row);
  };

  /** The last of the calls that are looked through for one page; undefined when there are fewer. */
  const findEnd = async (accountId: string, before: string, from: string): Promise<string | undefined> => {
    const [row] = await db.readPatiently<{ id: string }>(
      `SELECT id FROM call WHERE ${inSpan} ORDER BY account_id DESC, id DESC LIMIT 1 OFFSET $4`,
      [accountId, before, from, lookedThroughMax - 1],
    );
    return row?.id;
  };

  const list = async (accountId: string, filter: CallFilter): Promise<CallPage> => {
    const { before = behindAllIds, from = "", operationId, status, keyId, limit } = filter;
    const { grantId, model, outcome } = filter;
    const isOpen = status !== undefined && openStates.has(status);
    const wanted = [operationId, status, keyId, grantId, model, outcome];
    const filters = wanted.some((value) => value !== undefined);
    // Calls are never removed, so whatever comes between these two statements is only looked at too.
    const endsAt = filters && !isOpen ? await findEnd(accountId, before, from) : undefined;
    const rows = await db.readPatiently<CallRow>(isOpen ? listOpen : listAll, [
      accountId,
      before,
      endsAt ?? from,
      ...wanted.map((value) => value ?? null),
      // One more than asked for tells whether there is a next page.
      limit + 1,
    ]);
    const calls = rows.slice(0, limit).map(callOf);
    return { calls, nextBefore: rows.length > limit ? calls.at(-1)?.id : endsAt };
  };

  return {
    findByKey: async (accountId, keyHash, nowMs) => {
      const call = await findOne(
        "JOIN claim ON claim.call_id = call.id WHERE claim.account_id = $1 AND key_hash = $2 AND call.account_id = $1",
        [accountId, keyHash],
      );
      return call && keepsKey(call.settledAtMs, nowMs) ? call : undefined;
    },
    find: (accountId, callId) => findOne("WHERE call.account_id = $1 AND call.id = $2", [accountId, callId]),
    findAny: (callId) => findOne("WHERE call.id = $1", [callId]),
    list,
  };
}

const selectFrom = (calls: string): string => `
  SELECT call.id, call.account_id, call.key_id, call.grant_id, ${clientName} AS client_name, call.operation_id, call.model,
         ${stateNow} AS state, outcome, held_micros, value_micros, charged_micros, written_off_micros, multiplier_ppm, price_version, unit_prices, used, usage_source,
         http_status, attempts, call.created_at_ms, settled_at_ms
  FROM ${calls} JOIN price ON price.version = call.price_version`;

// The account; before which call, and from which on. Asked for an account and, apart from it, for the newest ids, Postgres
// may walk along the ids of all accounts until it has met enough of this one.
const inSpan = "(account_id, id) < ($1, $2) AND (account_id, id) >= ($1, $3)";
/** Operation, state, key, grant, model and outcome, where they matter. */
const fits = `($4::text IS NULL OR call.operation_id = $4) AND ($5::text IS NULL OR ${stateNow} = $5)
  AND ($6::text IS NULL OR key_id = $6) AND ($7::text IS NULL OR grant_id = $7) AND ($8::text IS NULL OR call.model = $8)
  AND ($9::text IS NULL OR outcome = $9)`;

const listFrom = (calls: string): string =>
  `${selectFrom(calls)} WHERE ${inSpan} AND ${fits} ORDER BY account_id DESC, id DESC LIMIT $10`;

const listAll = listFrom("call");

// The open calls of all accounts are fewer than the ended ones of a single account may be. The offset keeps Postgres
// from looking for them among those.
const listOpen = listFrom("(SELECT * FROM call WHERE settled_at_ms IS NULL OFFSET 0) AS call");
