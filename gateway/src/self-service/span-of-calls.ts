// Between which places of an account's list calls are looked for.

import type { GrantBook } from "../grants/grants.ts";
import type { CallFilter } from "../ledger/call-book.ts";
import { placeOfMoment } from "../ledger/call-places.ts";
import type { ReceiptsWanted } from "../operation/self-service.ts";

/**
 * A client makes calls between when it was let in and its end. So those of one that ended long ago are found without looking
 * through all that the account made since, and a search ends where there can be no more of them. Undefined where there are
 * none at all, because the account has no such client.
 */
export async function spanOfCalls(
  accountId: string,
  { before, madeFromMs, madeBeforeMs, grantId }: ReceiptsWanted,
  grants: GrantBook,
): Promise<Pick<CallFilter, "before" | "from"> | undefined> {
  const asked = { from: placeOf(madeFromMs), before: older(before, placeOf(madeBeforeMs)) };
  if (grantId === undefined) return asked;
  const grant = await grants.find(grantId);
  if (grant?.accountId !== accountId) return undefined;
  const { createdAtMs, revokedAtMs, spendPolicy } = grant;
  const endMs = Math.min(revokedAtMs ?? Infinity, spendPolicy.expiresAtMs);
  return {
    from: newer(asked.from, placeOf(createdAtMs - clocksApartMs)),
    before: older(asked.before, placeOf(endMs + clocksApartMs)),
  };
}

/** One node lets a client in, another ends it, and a third makes the ids of its calls: their clocks differ by less than this. */
const clocksApartMs = 10 * 60_000;

const placeOf = (ms: number | undefined): string | undefined =>
  ms === undefined ? undefined : placeOfMoment(ms);

/** The one of two places in the list of calls that is further back. */
const older = (one: string | undefined, other: string | undefined): string | undefined =>
  one === undefined || (other !== undefined && other < one) ? other : one;

/** The one that is less far back. */
const newer = (one: string | undefined, other: string | undefined): string | undefined =>
  one === undefined || (other !== undefined && other > one) ? other : one;
