import type { OperationConfig } from "../config/config.ts";
import { bindNames } from "../operation/names.ts";
import { isSold, type Operation } from "../operation/operation.ts";
import { costUnit } from "../operation/price.ts";
import { createTerms, type Terms } from "../prices/terms.ts";
import { microsFromUsd, multiplierOne, picoFromUsd, type Micros } from "../platform/money.ts";
import { offerModel } from "./offer-model.ts";
import type { Offer, OfferedModel, OfferedOperation } from "./offer.ts";
import { servingUpstreams, type Market } from "./serving-upstreams.ts";

/** An operation of the catalogue as this market has it: at what price, by whom, with which models. */
export function offerOperation(
  declared: Operation,
  market: Market,
  conventionsOf: Offer["conventionsOf"],
): OfferedOperation {
  const written = market.config.operations.get(declared.id);
  const operation = withLimits(declared, written);
  const path = bindNames(operation.path, market.config.names);
  const upstreams = isSold(operation) ? servingUpstreams(operation, market) : [];
  // The sandbox serves one call like the next, so it never draws among its protocols.
  const ordered = written?.via !== undefined || upstreams.some(({ sandbox }) => sandbox);
  const models = new Map<string, OfferedModel>();
  const unpricedModels = new Set<string>();
  for (const model of market.models) {
    const offeredModel = offerModel(operation, model, { upstreams, ordered });
    if (offeredModel === "unpriced") unpricedModels.add(model.id);
    else if (offeredModel) models.set(model.id, offeredModel);
  }
  const wanted = written?.defaultModel;
  const usual = operation.price.kind === "per_token" ? (operation.price.defaultModels ?? []) : [];
  return {
    operation,
    path,
    conventions: conventionsOf(path),
    terms: termsOf(operation, written),
    mostCostMicros: mostCostOf(operation, written),
    upstreams,
    ordered,
    models,
    unpricedModels,
    defaultModel: firstOffered(models, wanted === undefined ? [...usual, ...models.keys()] : [wanted]),
    toldModels: [],
  };
}

/** A limit of the operator's is counted for this operation alone, also where it shared one with others. */
const withLimits = (operation: Operation, written: OperationConfig | undefined): Operation =>
  written?.rpm === undefined
    ? operation
    : Object.freeze({
        ...operation,
        limits: { ...operation.limits, rpm: { group: operation.id, limit: written.rpm } },
      });

function firstOffered(
  models: ReadonlyMap<string, OfferedModel>,
  ids: readonly string[],
): OfferedModel | undefined {
  const id = ids.find((candidate) => models.has(candidate));
  return id === undefined ? undefined : models.get(id);
}

function termsOf({ id, price }: Operation, written: OperationConfig | undefined): Terms | undefined {
  if (price.kind === "by_cost") {
    // A micro-USD is a million pico-USD, so a factor in parts per million is the price of one of them.
    return createTerms(id, undefined, { [costUnit]: written?.costFactorPpm ?? multiplierOne });
  }
  if (price.kind !== "per_unit") return undefined;
  const pico = written?.priceUsdPico ?? picoFromUsd(price.usd);
  return pico === undefined ? undefined : createTerms(id, undefined, { [price.unit]: pico });
}

const mostCostOf = ({ price }: Operation, written: OperationConfig | undefined): Micros | undefined =>
  price.kind === "by_cost" ? (written?.maxCostMicros ?? microsFromUsd(price.atMostUsd)) : undefined;
