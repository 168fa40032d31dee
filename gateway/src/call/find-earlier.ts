import type { EarlierCall } from "../ledger/ledger.ts";
import type { Gate } from "./gate.ts";
import type { PricedCall } from "./priced-call.ts";
import { readBooks } from "./read-books.ts";

/** The call that has the idempotency key of this one. */
export async function findEarlier(
  { call, caller, wishes: { claim } }: PricedCall,
  gate: Gate,
): Promise<EarlierCall | undefined> {
  if (!claim) return undefined;
  return readBooks(gate.ledger.findEarlier(caller.accountId, claim, call.receivedAtMs), call, gate);
}
