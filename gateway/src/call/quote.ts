import { isSold, type Operation } from "../operation/operation.ts";
import { priceLines } from "../operation/terms.ts";
import { attoPerMicro, usdFromPico } from "../platform/money.ts";
import { refuse } from "../platform/refusals.ts";
import { jsonAnswer, type Answer, type Call } from "./call.ts";
import type { Gate } from "./gate.ts";
import type { PricedCall } from "./price-call.ts";

/** Whether the caller asks for the price instead of the goods. Any other word is refused and never executed. */
export function wantsQuote(call: Call, operation: Operation): boolean {
  if (call.costMode === undefined) return false;
  if (call.costMode !== "quote") {
    refuse("invalid_parameters", `${call.offer.headers.costMode}: expected "quote" or no such header`);
  }
  if (!isSold(operation)) refuse("cost_quote_unsupported", "This operation is free; it has no quote.");
  return true;
}

/** The price of this very call, by the same figures it would be held under. Nothing is held or sent. */
export function quote(operation: Operation, priced: PricedCall, gate: Gate): Answer {
  const { terms, estimate, multiplierPpm } = priced;
  return jsonAnswer(200, {
    object: "cost_estimate",
    operation_id: operation.id,
    currency: "USD",
    estimate_kind: priced.exact ? "exact" : "estimate",
    estimated_cost_micros_usd: Number(priced.expectedMicros),
    max_cost_micros_usd: Number(priced.atMostMicros),
    may_exceed_estimate: !priced.exact,
    estimated_at: new Date(gate.clock.wallMs()).toISOString(),
    price_version: terms.version,
    breakdown: priceLines(estimate.expected, terms).map((line) => ({
      unit: line.unit,
      quantity: line.quantity,
      unit_price_usd: usdFromPico(line.unitPricePico),
      cost_micros_usd: Number((line.valuePico * multiplierPpm + attoPerMicro - 1n) / attoPerMicro),
    })),
  });
}
