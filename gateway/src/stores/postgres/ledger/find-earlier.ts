import type { EarlierCall, IdempotencyClaim } from "../../../ledger/ledger.ts";
import type { Query } from "../server/query.ts";
import { claimFactsOf } from "./claim-facts.ts";
import { readClaimed } from "./fact-rows.ts";
import { readUnpaidClaims, wantedKeysOf } from "./hold-rows.ts";
import { callOf } from "./ledger-facts.ts";

/**
 * Which request of an account has an idempotency key, paid for or not. Whoever takes a key locks its account first, so that
 * nobody else takes it between this look and what they write.
 */
export async function findEarlier(
  query: Query,
  accountId: string,
  claim: IdempotencyClaim,
  nowMs: number,
): Promise<EarlierCall | undefined> {
  const wantedKey = wantedKeysOf([{ accountId, idempotency: claim }]);
  const [claimed, unpaid] = await Promise.all([
    readClaimed(query, wantedKey),
    readUnpaidClaims(query, wantedKey),
  ]);
  const calls = new Map(claimed.map((row) => [row.id, callOf(row)]));
  return claimFactsOf({ claimed, unpaid }, calls).findEarlier(accountId, claim, nowMs);
}
