import type { EarlierCall } from "../../ledger/ledger.ts";
import { refuseEarlier } from "../../ledger/refuse-earlier.ts";
import type { Gate } from "../gate.ts";
import type { PaidCall } from "../paid-call.ts";
import { readBooks } from "./refuse-unbooked.ts";

/** A repeated request is told so, even when it would be refused for another reason too. */
export async function checkEarlier(paid: PaidCall, gate: Gate): Promise<void> {
  const earlier = await findEarlier(paid, gate);
  if (earlier) refuseEarlier(earlier, paid.operation.idempotency?.codePrefix);
}

/** The call that has the idempotency key of this one. */
export async function findEarlier(
  { call, caller, wishes: { claim } }: PaidCall,
  gate: Gate,
): Promise<EarlierCall | undefined> {
  if (!claim) return undefined;
  return readBooks(gate.ledger.findEarlier(caller.accountId, claim, call.receivedAtMs), call, gate);
}
