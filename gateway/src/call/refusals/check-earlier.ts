import { refuseEarlier } from "../../ledger/refuse-earlier.ts";
import { findEarlier } from "../find-earlier.ts";
import type { Gate } from "../gate.ts";
import type { PaidCall } from "../paid-call.ts";

/** A repeated request is told so, even when it would be refused for another reason too. */
export async function checkEarlier(paid: PaidCall, gate: Gate): Promise<void> {
  const earlier = await findEarlier(paid, gate);
  if (earlier) refuseEarlier(earlier, paid.operation.idempotency?.codePrefix);
}
