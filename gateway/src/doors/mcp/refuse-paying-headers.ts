import type { Offer } from "../../offer/offer.ts";
import { protocolError } from "./protocol-error.ts";

/**
 * By these headers a call is capped, quoted or made once at the other door. Tools take the same as arguments, one for each
 * call; whoever sends the header instead believes that nothing can happen which it forbids.
 */
export function refusePayingHeaders(
  { headers: sent }: Request,
  { headers: names }: Pick<Offer, "headers">,
): Response | undefined {
  const paying = [names.costMode, names.maxPriceUsd, ...usualNames].find((name) => sent.has(name));
  if (paying === undefined) return undefined;
  const message = `${paying} means nothing here, so nothing was run: tools take max_price_usd and idempotency_key.`;
  return protocolError(400, -32600, message);
}

const usualNames = ["x-tollgate-cost-mode", "x-tollgate-max-price-usd", "idempotency-key"] as const;
