import type { EarlierCall, IdempotencyClaim } from "../../../ledger/ledger.ts";
import { nothingWanted } from "./fact-rows.ts";
import { readFacts } from "./ledger-facts.ts";
import type { Query } from "../server/query.ts";

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
  const hold = {
    accountId,
    idempotency: claim,
    keyId: "",
    amountMicros: 0n,
    createdAtMs: nowMs,
    budget: undefined,
  };
  const facts = await readFacts(query, { ...nothingWanted, holds: [hold] }, { lock: "none" });
  return facts.findEarlier(accountId, claim, nowMs);
}
