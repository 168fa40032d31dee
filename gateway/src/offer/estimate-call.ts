import type { CallInput, Estimate, PriceContract } from "../operation/operation.ts";
import { costUnit } from "../operation/price.ts";
import { estimateVideo } from "../operation/video-seconds.ts";
import { microsFromUsd } from "../platform/money.ts";
import type { OfferedModel, OfferedOperation } from "./offer.ts";

type PriceOf<Kind extends PriceContract["kind"]> = Extract<PriceContract, { kind: Kind }>;

export function estimateUnits(price: PriceOf<"per_unit">, input: CallInput): Estimate {
  const requested = price.requested(input);
  const most = price.atMost?.(input) ?? requested;
  return { expected: { [price.unit]: requested }, atMost: { [price.unit]: most } };
}

export function estimateCost(
  price: PriceOf<"by_cost">,
  { mostCostMicros = 0n }: Pick<OfferedOperation, "mostCostMicros">,
): Estimate {
  const atMost = Number(mostCostMicros);
  const expected = Math.min(Number(microsFromUsd(price.usualUsd) ?? 0n), atMost);
  return { expected: { [costUnit]: expected }, atMost: { [costUnit]: atMost } };
}

export function estimateSeconds(
  price: PriceOf<"per_second">,
  { facts, terms }: OfferedModel,
  input: CallInput,
): Estimate {
  const usual = { usual: facts.usualVideo, secondsMax: price.secondsMax, prices: terms.unitPricesPico };
  return estimateVideo(price.requested(input), usual);
}
