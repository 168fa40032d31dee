import { valuePico } from "../../prices/terms.ts";
import { microsRoundedUp, usdFromMicros, type Micros } from "../../platform/money.ts";
import type { PricedCall } from "../priced-call.ts";

/**
 * A conversation mostly holds money for an answer as long as its model can write, and hardly any answer is. A caller who
 * could pay for a shorter one is told which member limits it: a sentence to put behind another, or nothing.
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
