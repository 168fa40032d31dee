import { refuseEarlier } from "../../ledger/refuse-earlier.ts";
import { findEarlier } from "../find-earlier.ts";
import type { Gate } from "../gate.ts";
import type { PricedCall } from "../priced-call.ts";

/** A repeated request is told so, even when it would be refused for another reason too. */
export async function checkEarlier(priced: PricedCall, gate: Gate): Promise<void> {
  const earlier = await findEarlier(priced, gate);
  if (earlier) refuseEarlier(earlier, priced.operation.idempotency?.codePrefix);
}
