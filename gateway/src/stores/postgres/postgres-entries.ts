import type { AccountBook } from "../../ledger/accounts.ts";
import { entryKinds, type EntryFilter, type EntryKind } from "../../ledger/entries.ts";
import type { Micros } from "../../platform/money.ts";
import {
  chargeOf,
  paymentOf,
  withBalances,
  type EntryWithoutBalance,
  type ChargeRow,
  type PaymentRow,
} from "../entry-rows.ts";
import { bucketWidthsSeconds } from "../usage-buckets.ts";
import type { Database } from "./server/database.ts";
import type { Query } from "./server/query.ts";

/** Where a page begins. It shows what was booked before that. */
interface Place {
  readonly atMs: number;
  /** Where its kind comes among the entries of one millisecond. */
  readonly rank: number;
  readonly id: string;
}

const newest: Place = { atMs: Number.MAX_SAFE_INTEGER, rank: 0, id: "" };
/** Page size of the read: whoever stops early has read at most this many too many. */
const readAtOnce = 1_000;

/** The entries of an account with the balances between them, of one moment, however much others write meanwhile. */
export function createPostgresEntries(db: Database): AccountBook["entries"] {
  const read = async (query: Query, accountId: string, { limit, before }: EntryFilter) => {
    const [account] = await query<{ posted_micros: bigint }>(balance, [accountId]);
    if (!account) return undefined;
    const end = await placeOf(query, accountId, before);
    if (!end) return { refused: "unknown_entry" } as const;
    const found = [
      ...(await newestPayments(query, accountId, end, limit + 1)),
      ...(await newestCharges(query, accountId, end, limit + 1)),
    ].toSorted(newestFirst);
    const balanceThenMicros = account.posted_micros - (await laterMicros(query, accountId, end));
    return {
      entries: withBalances(found.slice(0, limit), balanceThenMicros),
      hasMore: found.length > limit,
      balanceMicros: account.posted_micros,
    };
  };

  return (accountId, filter) => db.readMoment((query) => read(query, accountId, filter), { isLong: true });
}

async function placeOf(
  query: Query,
  accountId: string,
  before: EntryFilter["before"],
): Promise<Place | undefined> {
  if (!before) return newest;
  // A moment stands before everything that was booked in its millisecond.
  if ("atMs" in before) return { atMs: before.atMs, rank: 0, id: "" };
  const [row] = await query<{ kind: EntryKind; at_ms: bigint }>(place, [accountId, before.id]);
  return row && { atMs: Number(row.at_ms), rank: rankOf(row.kind), id: before.id };
}

async function newestPayments(
  query: Query,
  accountId: string,
  end: Place,
  wanted: number,
): Promise<EntryWithoutBalance[]> {
  const rows = await query<PaymentRow>(paymentsBefore, [accountId, end.atMs, end.rank, end.id, wanted]);
  return rows.map(paymentOf);
}

/** Looks through the calls as they ended, and leaps over those that cost nothing where there are many. */
async function newestCharges(
  query: Query,
  accountId: string,
  end: Place,
  wanted: number,
): Promise<EntryWithoutBalance[]> {
  const found: EntryWithoutBalance[] = [];
  for (let from = chargesFrom(end); ;) {
    const rows = await query<ChargeRow>(endedBefore, [accountId, from.atMs, from.id, readAtOnce]);
    const charges = rows.filter((call) => call.charged_micros !== 0n);
    found.push(...charges.map(chargeOf));
    const last = rows.at(-1);
    if (!last || rows.length < readAtOnce || found.length >= wanted) return found.slice(0, wanted);

    from = { atMs: Number(last.settled_at_ms), id: last.id };
    if (charges.length > 0) continue;
    const [charged] = await query<ChargedRow>(newestCharged, [accountId, secondOf(from.atMs)]);
    if (!charged) return found;
    const endMs = (Number(charged.start_seconds) + 1) * 1000;
    if (endMs <= from.atMs) from = { atMs: endMs, id: "" };
  }
}

/** The sum of all entries that are not before a place: of the calls in its second, and of whole buckets from then on. */
async function laterMicros(query: Query, accountId: string, end: Place): Promise<Micros> {
  const nextSecond = secondOf(end.atMs) + 1;
  const bucketStarts = bucketWidthsSeconds.map((width) => Math.ceil(nextSecond / width) * width);
  const { id } = chargesFrom(end);
  const [buckets] = await query<SumRow>(chargedInBuckets, [accountId, ...bucketStarts]);
  const [second] = await query<SumRow>(chargedInCalls, [accountId, end.atMs, id, nextSecond * 1000]);
  const [payments] = await query<SumRow>(paidFrom, [accountId, end.atMs, end.rank, end.id]);
  return (payments?.micros ?? 0n) - (buckets?.micros ?? 0n) - (second?.micros ?? 0n);
}

/** Charges are the last in their millisecond, so those beside anything else are not before it. */
const chargesFrom = ({ atMs, rank, id }: Place): { readonly atMs: number; readonly id: string } =>
  rank === rankOf("charge") ? { atMs, id } : { atMs, id: "" };

const secondOf = (atMs: number): number => Math.floor(atMs / 1000);

const rankOf = (kind: EntryKind): number => entryKinds.indexOf(kind) + 1;

/** Those of one kind come in order already. */
const newestFirst = (a: EntryWithoutBalance, b: EntryWithoutBalance): number =>
  b.bookedAtMs - a.bookedAtMs || rankOf(b.kind) - rankOf(a.kind);

interface ChargedRow {
  readonly start_seconds: bigint;
}

interface SumRow {
  readonly micros: bigint;
}

const balance = "SELECT posted_micros FROM account WHERE id = $1";

const place = `
  SELECT kind, created_at_ms AS at_ms FROM payment WHERE transfer_id = $2 AND party = $1 UNION ALL
  SELECT 'charge', settled_at_ms FROM call WHERE id = $2 AND account_id = $1 AND settled_at_ms IS NOT NULL`;

const paymentPlace = `(created_at_ms, array_position('{${entryKinds.join()}}', kind), transfer_id COLLATE "C")`;

// The first of two conditions about time says no more than the second, and is the one that an index knows.
const paymentsBefore = `
  SELECT transfer_id, kind, amount_micros, memo, created_at_ms FROM payment
  WHERE party = $1 AND created_at_ms <= $2 AND ${paymentPlace} < ($2, $3::int, $4)
  ORDER BY created_at_ms DESC, ${paymentPlace} DESC LIMIT $5`;

const paidFrom = `
  SELECT coalesce(sum(amount_micros), 0)::bigint AS micros FROM payment
  WHERE party = $1 AND created_at_ms >= $2 AND ${paymentPlace} >= ($2, $3::int, $4)`;

const endedBefore = `
  SELECT id, key_id, operation_id, model, charged_micros, settled_at_ms FROM call
  WHERE account_id = $1 AND settled_at_ms <= $2 AND (settled_at_ms, id) < ($2, $3)
  ORDER BY settled_at_ms DESC, id DESC LIMIT $4`;

const chargedInCalls = `
  SELECT coalesce(sum(charged_micros), 0)::bigint AS micros FROM call
  WHERE account_id = $1 AND settled_at_ms >= $2 AND (settled_at_ms, id) >= ($2, $3) AND settled_at_ms < $4`;

// Seconds to the next whole minute, minutes to the next whole hour, hours to the next whole day, and all days from there.
const chargedInBuckets = `
  SELECT coalesce(sum(charged_micros), 0)::bigint AS micros FROM usage_bucket
  WHERE account_id = $1 AND (width_seconds = 1 AND start_seconds >= $2 AND start_seconds < $3
                             OR width_seconds = 60 AND start_seconds >= $3 AND start_seconds < $4
                             OR width_seconds = 3600 AND start_seconds >= $4 AND start_seconds < $5
                             OR width_seconds = 86400 AND start_seconds >= $5)`;

// The newest second up to this one with a charge in it. All charges of the newest such day may be later; not of the next.
const newestCharged = `
  SELECT second.start_seconds
  FROM (SELECT DISTINCT start_seconds FROM usage_bucket
        WHERE account_id = $1 AND width_seconds = 86400 AND start_seconds <= $2 AND charged_micros <> 0
        ORDER BY start_seconds DESC LIMIT 2) AS day
       CROSS JOIN LATERAL
       (SELECT start_seconds FROM usage_bucket
        WHERE account_id = $1 AND width_seconds = 1 AND charged_micros <> 0 AND start_seconds <= $2
              AND start_seconds >= day.start_seconds AND start_seconds < day.start_seconds + 86400
        ORDER BY start_seconds DESC LIMIT 1) AS second
  ORDER BY second.start_seconds DESC LIMIT 1`;
