import { refuseEarlier } from "../../ledger/refuse-earlier.ts";
import { findEarlier } from "../find-earlier.ts";
import type { Gate } from "../gate.ts";
import type { PricedCall } from "../priced-call.ts";

/** A repeated request hears that it is one, even when there is another reason to refuse it. */
export async function checkEarlier(priced: PricedCall, gate: Gate): Promise<void> {
  const earlier = await findEarlier(priced, gate);
  if (earlier) refuseEarlier(earlier, priced.operation.idempotency?.codePrefix);
}
