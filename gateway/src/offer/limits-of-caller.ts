import type { Credential } from "../keys/keys.ts";
import type { TierLimits } from "../limits/tiers.ts";
import type { Offer } from "./offer.ts";

/** The tier's limits, or what was granted where that is more. So whoever reaches a higher tier never loses by it. */
export function limitsOfCaller(
  { tiers }: Pick<Offer, "tiers">,
  { tier, grantedLimits }: Pick<Credential, "tier" | "grantedLimits">,
): TierLimits {
  const { rpm, tpm, concurrency } = tiers[tier];
  return {
    rpm: Math.max(rpm, grantedLimits.rpm ?? 0),
    tpm: Math.max(tpm, grantedLimits.tpm ?? 0),
    concurrency: Math.max(concurrency, grantedLimits.concurrency ?? 0),
  };
}
