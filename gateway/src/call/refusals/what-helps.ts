import { valuePico } from "../../prices/terms.ts";
import { microsRoundedUp, usdFromMicros, type Micros } from "../../platform/money.ts";
import type { PricedCall } from "../priced-call.ts";

/**
 * Most of what a conversation holds is for an answer as long as its model can write, which hardly any is. Whoever could
 * pay if it were shorter learns by which member to say so; a sentence to put behind another, or nothing.
 */
export function whatHelps({ operation, price }: PricedCall, leftMicros: Micros): string {
  const { price: contract } = operation;
  if (contract.kind !== "per_token" || contract.outputLimit === undefined) return "";
  const { estimate, terms, multiplierPpm, atMostMicros } = price;
  const written = Object.entries(estimate.atMost).filter(([unit]) => unit.startsWith("output_"));
  const tokens = written.reduce((sum, [, quantity]) => sum + quantity, 0);
  const writtenMicros = microsRoundedUp(valuePico(Object.fromEntries(written), terms) * multiplierPpm);
  if (atMostMicros - writtenMicros >= leftMicros) return "";
  return (
    ` ${usdFromMicros(writtenMicros)} USD of that are for the ${tokens} tokens that it may write; ` +
    `a smaller ${contract.outputLimit} costs less.`
  );
}
