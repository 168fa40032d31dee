import { keyTokens, seenAt } from "../limits/call-limits.ts";
import { limitsOf } from "../limits/tiers.ts";
import type { Call } from "./call.ts";
import type { Gate } from "./gate.ts";

/**
 * Sees how the tokens of a minute stand, where they apply, for a caller whose call was not admitted: an admitted one has
 * seen them already.
 */
export async function seeTokens({ known, offer, method, path }: Call, gate: Gate): Promise<void> {
  const { caller } = known;
  if (!caller || known.tokens) return;
  // Whoever is refused by the first limit has not come as far as the operation.
  if (offer.routes.find(method, path)?.offered.operation.price.kind !== "per_token") return;
  const { tpm } = limitsOf(offer.tiers[caller.tier], caller.grantedLimits);
  known.tokens = seenAt(gate.clock.wallMs(), await gate.limiter.look(keyTokens(caller.keyId, 0, tpm)));
}
