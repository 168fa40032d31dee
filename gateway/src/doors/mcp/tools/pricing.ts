import { estimateCost } from "../../../offer/estimate-call.ts";
import type { OfferedOperation } from "../../../offer/offer.ts";
import type { ModelKind } from "../../../operation/model-kind.ts";
import type { Quantities } from "../../../prices/quantities.ts";
import { valuePico, type Terms } from "../../../prices/terms.ts";
import { estimateVideo } from "../../../operation/video-seconds.ts";
import { microsRoundedUp, type Micros } from "../../../platform/money.ts";
import { usdNumber } from "./tool-shapes.ts";

export interface Pricing {
  readonly currency: "USD";
  readonly model: "per_call" | "per_token" | "per_result" | "per_task" | "dynamic" | "free";
  readonly estimate_usd: number;
  readonly max_usd?: number;
  readonly quote_supported: boolean;
}

/** What is told about a price before anybody says what exactly they want: a usual call, under the caller's plan. */
export function pricingOf(offered: OfferedOperation, multiplierPpm: bigint): Pricing {
  const estimateMicros = estimateOf(offered, multiplierPpm);
  const most = mostOf(offered, estimateMicros, multiplierPpm);
  return {
    currency: "USD",
    model: modelOf(offered),
    estimate_usd: usdNumber(estimateMicros),
    ...(most === undefined ? {} : { max_usd: usdNumber(most) }),
    quote_supported: offered.operation.price.kind !== "free",
  };
}

function modelOf({ operation: { price } }: OfferedOperation): Pricing["model"] {
  switch (price.kind) {
    case "free":
      return "free";
    case "per_token":
      return "per_token";
    case "per_second":
      return "per_task";
    case "per_unit":
      return price.unit === "call" ? "per_call" : "per_result";
    case "by_cost":
      return "dynamic";
  }
}

/** What a usual call takes of a model: a page of text in and half a page out, or one picture. */
const usualTokens: Readonly<Record<Exclude<ModelKind, "video">, Quantities>> = {
  chat: { input_tokens: 1_000, output_tokens: 500 },
  rerank: { input_tokens: 5_000 },
  embedding: { input_tokens: 1_000 },
  image: { input_tokens: 100, output_tokens: 1_056 },
};

/** What one usual call costs under this plan. An operation without a price is not served, so it costs nothing. */
export function estimateOf(offered: OfferedOperation, multiplierPpm: bigint): Micros {
  const {
    operation: { price },
    terms,
    defaultModel,
    models,
  } = offered;
  const value = (used: Quantities, by: Terms | undefined): Micros => valueOf(used, by, multiplierPpm);
  switch (price.kind) {
    case "free":
      return 0n;
    case "per_unit":
      return value({ [price.unit]: 1 }, terms);
    case "per_token":
      return value(usualTokens[price.modelKind], defaultModel?.terms);
    case "per_second": {
      const [model] = models.values();
      if (!model) return 0n;
      const prices = model.terms.unitPricesPico;
      const usual = { usual: model.facts.usualVideo, secondsMax: price.secondsMax, prices };
      return value(estimateVideo({ seconds: undefined, resolution: undefined }, usual).expected, model.terms);
    }
    case "by_cost":
      return value(estimateCost(price, offered).expected, terms);
  }
}

/** Undefined where it depends on what is asked for. */
function mostOf(
  offered: OfferedOperation,
  estimateMicros: Micros,
  multiplierPpm: bigint,
): Micros | undefined {
  const { price } = offered.operation;
  if (price.kind === "free" || (price.kind === "per_unit" && !price.atMost)) return estimateMicros;
  if (price.kind !== "by_cost") return undefined;
  return valueOf(estimateCost(price, offered).atMost, offered.terms, multiplierPpm);
}

/** By the same arithmetic as a hold, so that what is told here is enough to be let through. */
const valueOf = (used: Quantities, terms: Terms | undefined, multiplierPpm: bigint): Micros =>
  terms ? microsRoundedUp(valuePico(used, terms) * multiplierPpm) : 0n;
