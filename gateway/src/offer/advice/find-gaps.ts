import type { Config, OperationConfig } from "../../config/config.ts";
import type { Catalogue } from "../../operation/catalogue.ts";
import { isSold, modelKindOf, type Operation } from "../../operation/operation.ts";
import type { Gap } from "./gap.ts";
import { unservedModels } from "./unserved-models.ts";
import { whyNotServed } from "../is-served.ts";
import type { Model } from "../merge-models.ts";
import { missingPrices } from "../missing-prices.ts";
import type { OfferedOperation, OfferSources } from "../offer.ts";

interface Bound extends OfferSources {
  readonly models: readonly Model[];
  /** Everything in the catalogue, also what nobody serves. */
  readonly offered: readonly OfferedOperation[];
}

/** What an operator must hear of, because calls are refused or a line of the configuration does nothing. */
export function findGaps(bound: Bound): Gap[] {
  const { catalogue, config, models, offered } = bound;
  return [
    ...unpricedModels(models),
    ...offered.flatMap((one) => [
      ...unpricedParts(one.operation, models),
      ...unfitPriceWords(one.operation, config.operations.get(one.operation.id)),
      ...unfitDefault(one, config),
    ]),
    ...unknownOperations(offered, config),
    ...unknownModels(catalogue, config),
    ...unservedModels(bound),
    ...upstreamsWithoutLinks(offered),
    ...offered.flatMap((one) => unsold(one, bound)),
  ];
}

const unpricedModels = (models: readonly Model[]): Gap[] =>
  models.filter(({ price }) => !price).map(({ id }) => ({ kind: "unpriced_model", model: id }));

const unpricedParts = (operation: Operation, models: readonly Model[]): Gap[] =>
  models
    .filter(({ price }) => price)
    .map((model) => ({ model: model.id, parts: missingPrices(operation, model) }))
    .filter(({ parts }) => parts.length > 0)
    .map(({ model, parts }) => ({ kind: "unpriced_parts", model, parts, operationId: operation.id }));

/** A price in words that do not fit the operation would be ignored. */
function unfitPriceWords({ id: operationId, price }: Operation, written: OperationConfig | undefined): Gap[] {
  const gaps: Gap[] = [];
  if (written?.priceUsdPico !== undefined && price.kind !== "per_unit") {
    gaps.push({ kind: pricedOtherwise[price.kind], operationId });
  }
  const wantsCost = written?.costFactorPpm !== undefined || written?.maxCostMicros !== undefined;
  if (wantsCost && price.kind !== "by_cost") gaps.push({ kind: "cost_without_reports", operationId });
  return gaps;
}

const pricedOtherwise = {
  free: "price_of_free",
  by_cost: "price_beside_reports",
  per_token: "price_beside_models",
  per_second: "price_beside_models",
} as const;

function unfitDefault({ operation, models }: OfferedOperation, config: Config): Gap[] {
  const { id: operationId, price } = operation;
  const wanted = config.operations.get(operationId)?.defaultModel;
  if (wanted === undefined) return [];
  if (!models.has(wanted)) return [{ kind: "default_not_offered", operationId, model: wanted }];
  const mayNameNone = price.kind === "per_token" && price.defaultModels !== undefined;
  return mayNameNone ? [] : [{ kind: "default_of_named", operationId }];
}

/** A name that nothing bears would be ignored. */
function unknownOperations(offered: readonly OfferedOperation[], config: Config): Gap[] {
  const known = new Set(offered.map(({ operation }) => operation.id));
  return [...config.operations.keys()]
    .filter((id) => !known.has(id))
    .map((operationId) => ({ kind: "unknown_operation", operationId }));
}

function unknownModels(catalogue: Catalogue, config: Config): Gap[] {
  const known = new Set([...catalogue.models.map(({ id }) => id), ...config.models.keys()]);
  const isUnknown = (id: string): boolean => !known.has(id);
  return [
    ...[...config.modelsOff].filter(isUnknown).map((model): Gap => ({ kind: "unknown_model_off", model })),
    ...[...config.upstreams].flatMap(([upstream, { models }]) =>
      [...(models ?? [])]
        .filter(isUnknown)
        .map((model): Gap => ({ kind: "unknown_model_listed", upstream, model })),
    ),
  ];
}

function upstreamsWithoutLinks(offered: readonly OfferedOperation[]): Gap[] {
  const linked = offered.filter(({ operation }) => isSold(operation) && operation.link);
  const unfit = linked.flatMap(({ upstreams }) => upstreams.filter(({ link }) => !link));
  return [...new Set(unfit.map(({ name }) => name))].map((upstream) => ({ kind: "no_links", upstream }));
}

/** Why nobody can buy an operation. */
function unsold(one: OfferedOperation, bound: Bound): Gap[] {
  const { operation, terms, models } = one;
  const { id: operationId, price } = operation;
  if (!isSold(operation)) return [];
  const why = whyNotServed(one, bound);
  if (why) return [{ kind: why, operationId }];
  if (price.kind === "per_unit" && !terms) return [{ kind: "no_price", operationId }];
  if (!isPricedByModel(operation) || models.size > 0) return [];
  // An upstream that serves it, by its own `via` or for tasks that began before, may have none of the models that are sold.
  const isElsewhere = bound.models.some((model) => isPricedFor(operation, model));
  return [{ kind: isElsewhere ? "no_model" : "no_priced_model", operationId }];
}

function isPricedFor(operation: Operation, model: Model): boolean {
  const kind = modelKindOf(operation);
  const isOfKind = kind !== undefined && model.kinds.includes(kind);
  return isOfKind && model.price !== undefined && missingPrices(operation, model).length === 0;
}

const isPricedByModel = ({ price }: Operation): boolean =>
  price.kind === "per_token" || price.kind === "per_second";
