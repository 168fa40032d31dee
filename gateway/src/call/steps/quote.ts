import type { CostEstimate } from "../../operation/cost-estimate.ts";
import { priceLines, type Terms } from "../../prices/terms.ts";
import type { Quantities } from "../../prices/quantities.ts";
import { isoTime } from "../../platform/clock.ts";
import { microsRoundedUp, multiplierFromPpm, usdFromPico, type Atto } from "../../platform/money.ts";
import { jsonAnswer, type Answer } from "../call.ts";
import type { Gate } from "../gate.ts";
import type { PricedCall } from "../priced-call.ts";
import { expectedMicros } from "../call-price.ts";
import { seeTokens } from "../limits/see-tokens.ts";

/** The price of this very call, by the same figures it would be held under. Nothing is held or sent. */
export async function quote({ call, operation, price }: PricedCall, gate: Gate): Promise<Answer> {
  await seeTokens(call, gate);
  const { terms, estimate, multiplierPpm } = price;
  const probableMicros = expectedMicros(price);
  call.known.expectedMicros = probableMicros;
  const told: CostEstimate = {
    object: "cost_estimate",
    operation_id: operation.id,
    currency: "USD",
    estimate_kind: price.exact ? "exact" : "estimate",
    estimated_cost_micros_usd: Number(probableMicros),
    max_cost_micros_usd: Number(price.atMostMicros),
    may_exceed_estimate: price.atMostMicros > probableMicros,
    estimated_at: isoTime(gate.clock.wallMs()),
    price_version: terms.version,
    plan_multiplier: multiplierFromPpm(multiplierPpm),
    breakdown: breakDown(estimate.expected, terms, multiplierPpm),
  };
  return jsonAnswer(200, told);
}

/** Each line is what the whole grows by with it, rounded like the whole; so the lines add up to what is told. */
function breakDown(expected: Quantities, terms: Terms, multiplierPpm: bigint): CostEstimate["breakdown"] {
  let soFar: Atto = 0n;
  return priceLines(expected, terms).map((line) => {
    const before = soFar;
    soFar += line.valuePico * multiplierPpm;
    return {
      unit: line.unit,
      quantity: line.quantity,
      unit_price_usd: usdFromPico(line.unitPricePico),
      cost_micros_usd: Number(microsRoundedUp(soFar) - microsRoundedUp(before)),
    };
  });
}
