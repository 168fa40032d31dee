import type { Quantities } from "../../prices/quantities.ts";
import { valuePico } from "../../prices/terms.ts";
import { microsRoundedUp, usdFromMicros, type Micros } from "../../platform/money.ts";
import type { PricedCall } from "../priced-call.ts";

/**
 * A conversation mostly holds money for an answer as long as its model can write, and hardly any answer is. A caller who
 * could pay for a shorter one is told which member limits it: a sentence to put behind another, or nothing.
 */
export function whatHelps({ price }: PricedCall, leftMicros: Micros): string {
  const { estimate, terms, multiplierPpm } = price;
  const { atMost, limited } = estimate;
  if (limited === undefined) return "";
  const { by, unit, tokens, leastTokens } = limited;
  const microsOf = (used: Quantities): Micros => microsRoundedUp(valuePico(used, terms) * multiplierPpm);
  const shortest = { ...atMost, [unit]: (atMost[unit] ?? 0) - tokens + leastTokens };
  if (microsOf(shortest) > leftMicros) return "";
  return (
    ` ${usdFromMicros(microsOf({ [unit]: tokens }))} USD of that are for the ${tokens} tokens that it may write; ` +
    `a smaller ${by} costs less.`
  );
}
