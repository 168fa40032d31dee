import type { CostEstimate } from "../../operation/cost-estimate.ts";
import { priceLines } from "../../prices/terms.ts";
import { isoTime } from "../../platform/clock.ts";
import { microsRoundedUp, usdFromPico } from "../../platform/money.ts";
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
    breakdown: priceLines(estimate.expected, terms).map((line) => ({
      unit: line.unit,
      quantity: line.quantity,
      unit_price_usd: usdFromPico(line.unitPricePico),
      cost_micros_usd: Number(microsRoundedUp(line.valuePico * multiplierPpm)),
    })),
  };
  return jsonAnswer(200, told);
}
