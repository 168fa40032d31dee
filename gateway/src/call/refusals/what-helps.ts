import type { Quantities } from "../../prices/quantities.ts";
import { valuePico } from "../../prices/terms.ts";
import { microsRoundedUp, usdFromMicros, type Micros } from "../../platform/money.ts";
import type { PricedCall } from "../priced-call.ts";

/**
 * Most of what a conversation holds is for the longest answer that its model can write, which hardly any answer is. A caller
 * who could pay for a shorter one is told which member limits it, in a sentence to append, or an empty one.
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
