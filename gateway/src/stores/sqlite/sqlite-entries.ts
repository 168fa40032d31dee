import type { Database } from "bun:sqlite";
import type { AccountBook } from "../../ledger/accounts.ts";
import { entryKinds, type EntryFilter, type EntryKind } from "../../ledger/entries.ts";
import type { PostedBooks } from "./journal/posted-books.ts";
import {
  chargeOf,
  paymentOf,
  withBalances,
  type EntryWithoutBalance,
  type PaymentRow,
} from "../entry-rows.ts";
import { createEndedCalls } from "./ended-calls.ts";

type Place = Pick<EntryWithoutBalance, "bookedAtMs" | "id"> & { readonly kind: EntryKind | undefined };

/** Whether enough is found is first asked after so many calls, then after twice as many. */
const firstLook = 500;

/** The entries of an account with the balances between them, of one moment, however much others write meanwhile. */
export function createSqliteEntries(db: Database, books: PostedBooks): AccountBook["entries"] {
  const sql = prepare(db);
  const ended = createEndedCalls(db);

  const read = (accountId: string, { limit, before }: EntryFilter) => {
    const account = sql.balance.get(accountId);
    if (!account) return undefined;
    const end = before && placeOf(accountId, before);
    if (before && !end) return { refused: "unknown_entry" } as const;
    const { found, laterMicros } = newestBefore(accountId, end, limit + 1);
    const entries = withBalances(found.slice(0, limit), account.posted_micros - laterMicros);
    return { entries, hasMore: found.length > limit, balanceMicros: account.posted_micros };
  };

  const placeOf = (accountId: string, before: NonNullable<EntryFilter["before"]>): Place | undefined => {
    if ("atMs" in before) return { bookedAtMs: before.atMs, id: "", kind: undefined };
    const row = sql.place.get(accountId, before.id);
    return row ? { bookedAtMs: Number(row.at_ms), id: before.id, kind: row.kind } : undefined;
  };

  /** So many of the newest entries before a place, and the sum of all that are not before it. */
  const newestBefore = (
    accountId: string,
    end: Place | undefined,
    wanted: number,
  ): { readonly found: EntryWithoutBalance[]; readonly laterMicros: bigint } => {
    let found: EntryWithoutBalance[] = [];
    let laterMicros = 0n;
    const take = (booked: EntryWithoutBalance): void => {
      if (end && newestFirst(booked, end) <= 0) laterMicros += booked.amountMicros;
      else found.push(booked);
    };

    for (const row of sql.payments.all(accountId)) take(paymentOf(row));
    const endedSeconds: number[] = [];
    let nextLook = firstLook;
    for (const call of ended.newestFirst(accountId)) {
      endedSeconds.push(Math.floor(Number(call.settled_at_ms) / 1000));
      if (call.charged_micros !== 0n) take(chargeOf(call));
      if (endedSeconds.length < nextLook) continue;
      nextLook *= 2;
      found = found.toSorted(newestFirst).slice(0, wanted);
      const last = found[wanted - 1];
      // Nothing newer than the last of them is left when all that ended since then was looked at.
      if (last && isComplete(accountId, endedSeconds, Math.floor(last.bookedAtMs / 1000))) break;
    }
    return { found: found.toSorted(newestFirst).slice(0, wanted), laterMicros };
  };

  const isComplete = (accountId: string, endedSeconds: readonly number[], since: number): boolean =>
    endedSeconds.filter((second) => second >= since).length === ended.countSince(accountId, since);

  return (accountId, filter) => books.readLong(() => read(accountId, filter));
}

/** A moment stands before everything that was booked in its millisecond. */
function newestFirst(a: Place, b: Place): number {
  if (a.bookedAtMs !== b.bookedAtMs) return b.bookedAtMs - a.bookedAtMs;
  if (a.kind !== b.kind) return rankOf(b.kind) - rankOf(a.kind);
  if (a.id === b.id) return 0;
  return a.id < b.id ? 1 : -1;
}

const rankOf = (kind: EntryKind | undefined): number => (kind === undefined ? -1 : entryKinds.indexOf(kind));

function prepare(db: Database) {
  return {
    balance: db.query<{ posted_micros: bigint }, [string]>("SELECT posted_micros FROM account WHERE id = ?1"),
    // People pay rarely: all payments there are, are fewer than the calls of an hour.
    payments: db.query<PaymentRow, [string]>(
      "SELECT transfer_id, kind, amount_micros, memo, created_at_ms FROM payment WHERE party = ?1",
    ),
    place: db.query<{ kind: EntryKind; at_ms: bigint }, [string, string]>(
      `SELECT kind, created_at_ms AS at_ms FROM payment WHERE transfer_id = ?2 AND party = ?1 UNION ALL
       SELECT 'charge', settled_at_ms FROM call WHERE id = ?2 AND account_id = ?1 AND settled_at_ms IS NOT NULL`,
    ),
  };
}
