import type { Database } from "bun:sqlite";
import type { CallRecord } from "../../ledger/call-record.ts";
import { keepsKey } from "../../ledger/idempotency-key.ts";
import type { CallBook, CallPage, CallFilter } from "../../ledger/call-book.ts";
import { behindAllIds, clientName, lookedThroughUsualMax, openStates, stateNow } from "../call-pages.ts";
import { callOf, type CallRow } from "../call-record-rows.ts";
import type { PostedBooks } from "./journal/posted-books.ts";
import type { Claims } from "./journal/claims.ts";

/** The account; before which call, and from which on; operation, state, key, grant, model and outcome, where they matter; how many. */
type ListParameters = [string, string, string, ...(string | null)[], number];

export function createSqliteCalls(
  db: Database,
  books: PostedBooks,
  claims: Claims,
  lookedThroughMax = lookedThroughUsualMax,
): CallBook {
  const find = db.query<CallRow, [string, string]>(`${select} WHERE account_id = ?1 AND id = ?2`);
  const findAny = db.query<CallRow, [string]>(`${select} WHERE id = ?1`);
  const fits = `(?4 IS NULL OR call.operation_id = ?4) AND (?5 IS NULL OR ${stateNow} = ?5) AND (?6 IS NULL OR call.key_id = ?6)
    AND (?7 IS NULL OR call.grant_id = ?7) AND (?8 IS NULL OR call.model = ?8) AND (?9 IS NULL OR outcome = ?9)`;
  // Left to itself SQLite walks along the ids, so as not to sort, and nearly all of them are of ended calls.
  const listOpen = db.query<CallRow, ListParameters>(
    `${selectFrom("call INDEXED BY call_open")}
     WHERE settled_at_ms IS NULL AND account_id = ?1 AND id < ?2 AND id >= ?3 AND ${fits}
     ORDER BY id DESC LIMIT ?10`,
  );
  // The order of these joins is the order of the loops: from the few rows of the list to the calls they name.
  const listEnded = db.query<CallRow, ListParameters>(
    `${selectFrom("account_call CROSS JOIN call ON call.id = account_call.call_id")}
     WHERE account_call.account_id = ?1 AND account_call.call_id < ?2 AND account_call.call_id >= ?3
       AND ${fits}
     ORDER BY account_call.call_id DESC LIMIT ?10`,
  );
  // What waits to be listed; while it is moved to the list, a call may stand in both.
  const listWaiting = db.query<CallRow, ListParameters>(
    `${selectFrom(`unlisted CROSS JOIN json_each(unlisted.lists, '$."' || ?1 || '"') AS waiting CROSS JOIN call ON call.id = waiting.value`)}
     WHERE waiting.value < ?2 AND waiting.value >= ?3 AND ${fits} ORDER BY call.id DESC LIMIT ?10`,
  );
  // Tens of thousands may wait; their ids are all looked at, which is quick, and so few of their calls.
  const nthEnded = db.query<{ call_id: string }, [string, string, number]>(
    `SELECT call_id FROM (SELECT call_id FROM account_call WHERE account_id = ?1 AND call_id < ?2
                          ORDER BY call_id DESC LIMIT ?3)
     UNION SELECT waiting.value FROM unlisted CROSS JOIN json_each(unlisted.lists, '$."' || ?1 || '"') AS waiting
           WHERE waiting.value < ?2
     ORDER BY call_id DESC LIMIT 1 OFFSET ?3 - 1`,
  );

  const readPage = db.transaction((accountId: string, filter: CallFilter): CallPage => {
    const { before = behindAllIds, from = "", operationId = null, status = null, keyId = null } = filter;
    const { grantId = null, model = null, outcome = null, limit } = filter;
    const lists = status !== null && openStates.has(status) ? [listOpen] : [listOpen, listEnded, listWaiting];
    const wanted = [operationId, status, keyId, grantId, model, outcome];
    const filters = wanted.some((value) => value !== null);
    // One more than asked for tells whether there is a next page.
    const most = limit + 1;
    const nth =
      lists.length > 1
        ? nthEnded.get(accountId, before, filters ? lookedThroughMax : most)?.call_id
        : undefined;
    const endsAt = nth !== undefined && nth > from ? nth : undefined;
    const place = [accountId, before, endsAt ?? from] as const;
    const rows = lists.flatMap((list) => list.all(...place, ...wanted, most));
    const found = [...new Map(rows.map((row) => [row.id, row])).values()].toSorted((a, b) =>
      a.id < b.id ? 1 : -1,
    );
    const calls = found.slice(0, limit).map(callOf);
    return { calls, nextBefore: found.length > limit ? calls.at(-1)?.id : endsAt };
  });

  const lookedUp = async (look: () => CallRow | null): Promise<CallRecord | undefined> => {
    // The row of an ended call never changes; whether another call is open, the journal knows.
    const ended = look();
    if (ended && ended.settled_at_ms !== null) return callOf(ended);
    const row = await books.read(look);
    return row ? callOf(row) : undefined;
  };
  return {
    findByKey: (accountId, keyHash, nowMs) =>
      books.read(() => {
        const claimed = claims.find(accountId, keyHash);
        const row = claimed && find.get(accountId, claimed.callId);
        const call = row ? callOf(row) : undefined;
        return call && keepsKey(call.settledAtMs, nowMs) ? call : undefined;
      }),
    find: (accountId, callId) => lookedUp(() => find.get(accountId, callId)),
    findAny: (callId) => lookedUp(() => findAny.get(callId)),
    list: (accountId, filter) => books.read(() => readPage(accountId, filter)),
  };
}

const selectFrom = (calls: string): string => `
  SELECT call.id, call.account_id, call.key_id, call.grant_id, ${clientName} AS client_name, call.operation_id, call.model,
         ${stateNow} AS state, outcome, held_micros, call.value_micros, call.charged_micros, written_off_micros, multiplier_ppm, price_version, unit_prices, used, usage_source,
         http_status, attempts, created_at_ms, settled_at_ms
  FROM ${calls} JOIN price ON price.version = call.price_version`;
const select = selectFrom("call");
