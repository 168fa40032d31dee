import { keyTokens, seenAt } from "../../limits/call-limits.ts";
import { limitsOfCaller } from "../../offer/limits-of-caller.ts";
import type { Call } from "../call.ts";
import type { Gate } from "../gate.ts";

/**
 * Sees how the tokens of a minute stand, where they apply, for a caller whose call was not admitted: an admitted one has
 * seen them already.
 */
export function seeTokens({ known, offer, method, path }: Call, gate: Gate): Promise<void> | undefined {
  const { caller } = known;
  if (!caller || known.tokens) return undefined;
  // A call that the first limit refused has not come as far as its operation.
  if (offer.routes.find(method, path)?.offered.operation.price.kind !== "per_token") return undefined;
  return look(known, caller, offer, gate);
}

async function look(
  known: Call["known"],
  caller: NonNullable<Call["known"]["caller"]>,
  offer: Call["offer"],
  { clock, limiter }: Gate,
): Promise<void> {
  const { tpm } = limitsOfCaller(offer, caller);
  known.tokens = seenAt(clock.wallMs(), await limiter.look(keyTokens(caller.keyId, 0, tpm)));
}
