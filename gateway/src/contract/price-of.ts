import { priceWordOf } from "../config/price-words.ts";
import { estimateCost, type PriceOf } from "../offer/estimate-call.ts";
import type { OfferedOperation } from "../offer/offer.ts";
import { costUnit } from "../operation/price.ts";
import { valuePico } from "../prices/terms.ts";
import {
  microsRoundedUp,
  multiplierFromPpm,
  multiplierOne,
  usdFromMicros,
  usdFromPico,
  type Micros,
  type Pico,
} from "../platform/money.ts";

/** A published price. All are estimates: what a call costs is settled when it ends, and plans may multiply it. */
export type PublishedPrice =
  | { readonly kind: "free" }
  | {
      readonly kind: "per_unit";
      readonly estimate: true;
      readonly currency: "USD";
      readonly unit: string;
      /** Null while the operator has set none; calls are then refused. */
      readonly usd_per_unit: string | null;
      readonly price_version: string | null;
    }
  | {
      readonly kind: "per_token";
      readonly estimate: true;
      readonly currency: "USD";
      readonly unit: "1000000 tokens";
      readonly default_model: string | null;
      readonly models: readonly PublishedModelPrice[];
    }
  | {
      readonly kind: "per_second";
      readonly estimate: true;
      readonly currency: "USD";
      readonly unit: "second";
      readonly models: readonly PublishedModelPrice[];
    }
  | {
      readonly kind: "by_cost";
      readonly estimate: true;
      readonly currency: "USD";
      readonly unit: string;
      /** What the vendor reports is charged times this. */
      readonly cost_factor: string;
      /** What is usually charged, and what is charged at most: times the factor already. */
      readonly usual_usd: string;
      readonly at_most_usd: string;
      readonly price_version: string | null;
    };

interface PublishedModelPrice {
  readonly model: string;
  /** By price word: input, output and the like for tokens; second_720p and the like for video. */
  readonly usd_per_unit: Readonly<Record<string, string>>;
  readonly price_version: string;
}

export function priceOf(offered: OfferedOperation): PublishedPrice {
  const { price } = offered.operation;
  const common = { estimate: true, currency: "USD" } as const;
  const version = offered.terms?.version ?? null;
  switch (price.kind) {
    case "free":
      return { kind: "free" };
    case "per_unit": {
      const pico = offered.terms?.unitPricesPico[price.unit];
      const usd = pico === undefined ? null : usdFromPico(pico);
      return { kind: "per_unit", ...common, unit: price.unit, usd_per_unit: usd, price_version: version };
    }
    case "by_cost":
      return {
        kind: "by_cost",
        ...common,
        unit: costUnit,
        cost_factor: multiplierFromPpm(offered.terms?.unitPricesPico[costUnit] ?? 0n),
        usual_usd: usdFromMicros(usualMicros(price, offered)),
        at_most_usd: usdFromMicros(offered.mostCostMicros ?? 0n),
        price_version: version,
      };
    case "per_token":
      return {
        kind: "per_token",
        ...common,
        unit: "1000000 tokens",
        default_model: price.defaultModels ? (offered.defaultModel?.id ?? null) : null,
        models: modelPrices(offered, perMillion),
      };
    case "per_second":
      return { kind: "per_second", ...common, unit: "second", models: modelPrices(offered, perOne) };
  }
}

const usualMicros = (price: PriceOf<"by_cost">, offered: OfferedOperation): Micros =>
  offered.terms
    ? microsRoundedUp(valuePico(estimateCost(price, offered).expected, offered.terms) * multiplierOne)
    : 0n;

type PriceLine = [word: string, usd: string];

const modelPrices = (
  { models }: OfferedOperation,
  line: (price: [string, Pico]) => PriceLine,
): PublishedModelPrice[] =>
  [...models.values()]
    .map(({ id, terms }) => ({
      model: id,
      usd_per_unit: Object.fromEntries(Object.entries(terms.unitPricesPico).map(line)),
      price_version: terms.version,
    }))
    .toSorted((a, b) => (a.model < b.model ? -1 : 1));

const perOne = ([unit, pico]: [string, Pico]): PriceLine => [unit, usdFromPico(pico)];

const perMillion = ([unit, pico]: [string, Pico]): PriceLine => [
  priceWordOf(unit),
  usdFromPico(pico * 1_000_000n),
];
