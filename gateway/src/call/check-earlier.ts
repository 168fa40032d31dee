import { refuseEarlier } from "../ledger/refuse-earlier.ts";
import type { Gate } from "./gate.ts";
import type { PaidCall } from "./paid-call.ts";

/** A repeated request is told so, even when it would be refused for another reason too. */
export async function checkEarlier(
  { call, operation, caller, wishes: { claim } }: PaidCall,
  gate: Gate,
): Promise<void> {
  const earlier = claim && (await gate.ledger.findEarlier(caller.accountId, claim, call.receivedAtMs));
  if (earlier) refuseEarlier(earlier, operation.idempotency?.codePrefix);
}
