import type { CallInput } from "../operation/call-input.ts";
import type { Estimate } from "../operation/estimate.ts";
import type { PriceContract } from "../operation/price-contract.ts";
import { costUnit } from "../operation/price.ts";
import { estimateVideo } from "../operation/video-seconds.ts";
import { quantityMax } from "../prices/quantities.ts";
import { microsFromUsd, multiplierOne, type Micros } from "../platform/money.ts";
import type { OfferedModel, OfferedOperation } from "./offer.ts";

/** Undefined for what is free, and where models have the price but none is given. */
export function estimateCall(
  offered: OfferedOperation,
  model: OfferedModel | undefined,
  input: CallInput,
): Estimate | undefined {
  const { price } = offered.operation;
  switch (price.kind) {
    case "free":
      return undefined;
    case "per_unit":
      return estimateUnits(price, input);
    case "by_cost":
      return estimateCost(price, offered);
    case "per_token":
      return model && price.estimate(input, model.facts);
    case "per_second":
      return model && estimateSeconds(price, model, input);
  }
}

export type PriceOf<Kind extends PriceContract["kind"]> = Extract<PriceContract, { kind: Kind }>;

function estimateUnits(price: PriceOf<"per_unit">, input: CallInput): Estimate {
  const requested = price.requested(input);
  const most = price.atMost?.(input) ?? requested;
  return { expected: { [price.unit]: requested }, atMost: { [price.unit]: most } };
}

export function estimateCost(
  price: PriceOf<"by_cost">,
  { terms, mostCostMicros = 0n }: Pick<OfferedOperation, "terms" | "mostCostMicros">,
): Estimate {
  const atMost = costWithin(mostCostMicros, terms?.unitPricesPico[costUnit] ?? multiplierOne);
  const expected = Math.min(Number(microsFromUsd(price.usualUsd) ?? 0n), atMost);
  return { expected: { [costUnit]: expected }, atMost: { [costUnit]: atMost } };
}

/**
 * The most that the vendor may report before its cost, times the factor, passes what may be charged. Rounded down:
 * what is held for it is never above the bound, though it may miss it by less than the price of one micro-USD.
 */
function costWithin(mostMicros: Micros, factorPpm: bigint): number {
  if (factorPpm === 0n) return Number(mostMicros);
  return Math.min(Number((mostMicros * multiplierOne) / factorPpm), quantityMax);
}

function estimateSeconds(
  price: PriceOf<"per_second">,
  { facts, terms }: OfferedModel,
  input: CallInput,
): Estimate {
  const usual = { usual: facts.usualVideo, secondsMax: price.secondsMax, prices: terms.unitPricesPico };
  return estimateVideo(price.requested(input), usual);
}
