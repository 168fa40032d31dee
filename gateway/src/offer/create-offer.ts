import type { Config, OperationConfig } from "../config/config.ts";
import { bindNames } from "../operation/names.ts";
import type { RecordedPrice } from "../ledger/ledger.ts";
import type { Catalogue } from "../operation/catalogue.ts";
import { isSold, type ModelKind, type Operation, type SoldOperation } from "../operation/operation.ts";
import { createTerms, type Terms } from "../prices/terms.ts";
import { costUnit } from "../operation/price.ts";
import { microsFromUsd, multiplierOne, picoFromUsd, type Micros, type Pico } from "../platform/money.ts";
import type { OfferedModel, OfferedOperation, Offer } from "./offer.ts";
import { checkVia } from "./check-via.ts";
import { doubtfulModels } from "./doubtful-models.ts";
import { doubtfulPrices } from "./doubtful-prices.ts";
import { mergeModels, type Model } from "./merge-models.ts";
import { createRoutes } from "./routes.ts";
import { hasModel, servingUpstreams } from "./serving-upstreams.ts";
import { findTaskUpstreams } from "./task-upstreams.ts";

/**
 * Binds the catalogue to a configuration; throws ConfigError when they do not fit. `sandboxUrl` is undefined when there
 * is no sandbox to fall back on.
 */
export function createOffer(catalogue: Catalogue, config: Config, sandboxUrl: string | undefined): Offer {
  checkVia(catalogue, config);
  const gaps: string[] = [];
  const models = mergeModels(catalogue, config, gaps);
  const offered = catalogue.operations.map((operation) =>
    offerOperation(operation, { config, sandboxUrl, models, gaps }),
  );
  for (const id of config.operations.keys()) {
    if (!offered.some(({ operation }) => operation.id === id))
      gaps.push(`operations.${id}: there is no such operation`);
  }
  checkModelNames(catalogue, config, gaps);
  const sold = offered.filter(
    (one) => isSold(one.operation) && servable(one, catalogue, config, sandboxUrl, gaps),
  );
  const served = offered.filter((one) => sold.includes(one) || isAnswerable(one.operation, sold));
  const word = config.names.provider.toLowerCase();
  return Object.freeze({
    names: config.names,
    headers: {
      costMode: `x-${word}-cost-mode`,
      maxPriceUsd: `x-${word}-max-price-usd`,
      costMicrosUsd: `x-${word}-cost-micros-usd`,
      upstream: `x-${word}-upstream`,
      asyncMode: `x-${word}-async`,
    },
    routes: createRoutes(served),
    operations: new Map(served.map((one) => [one.operation.id, one])),
    tiers: config.tiers,
    sandboxUrl,
    links: config.links,
    taskUpstreams: findTaskUpstreams(offered, config),
    prices: served.flatMap(pricesOf),
    gaps,
    notes: [
      ...models.filter(isTakenForEmbedding(catalogue)).map(({ id }) => `models.${id}: ${embeddingsOnly}`),
      ...doubtfulModels(catalogue, config, served),
      ...doubtfulPrices(config),
    ],
  });
}

/** Told, because a model for conversations whose price of output was forgotten looks the same. */
const embeddingsOnly = "no price for output, so it is offered for embeddings only";

const isTakenForEmbedding =
  (catalogue: Catalogue) =>
  ({ id, kinds }: Model): boolean =>
    kinds.every((kind) => kind === "embedding") && !catalogue.models.some((shipped) => shipped.id === id);

interface Context {
  readonly config: Config;
  readonly sandboxUrl: string | undefined;
  readonly models: readonly Model[];
  readonly gaps: string[];
}

function offerOperation(declared: Operation, context: Context): OfferedOperation {
  const written = context.config.operations.get(declared.id);
  const operation = withLimits(declared, written);
  const path = bindNames(operation.path, context.config.names);
  const upstreams = isSold(operation) ? servingUpstreams(operation, context) : [];
  // The sandbox serves one call like the next, so it never draws among its protocols.
  const ordered = written?.via !== undefined || upstreams.some(({ sandbox }) => sandbox);
  const models = new Map<string, OfferedModel>();
  const unpricedModels = new Set<string>();
  const modelKind = "modelKind" in operation.price ? operation.price.modelKind : undefined;
  if (isSold(operation) && modelKind !== undefined) {
    for (const model of context.models) {
      const offeredModel = offerModel(operation, modelKind, model, { upstreams, ordered }, context.gaps);
      if (offeredModel === "unpriced") unpricedModels.add(model.id);
      else if (offeredModel) models.set(model.id, offeredModel);
    }
  }
  checkPriceWords(operation, written, context.gaps);
  const wanted = written?.defaultModel;
  const usual = operation.price.kind === "per_token" ? (operation.price.defaultModels ?? []) : [];
  if (wanted !== undefined && !models.has(wanted)) {
    context.gaps.push(`operations.${operation.id}.default_model: "${wanted}" is not offered here`);
  }
  return {
    operation,
    path,
    terms: termsOf(operation, written),
    mostCostMicros: mostCostOf(operation, written),
    upstreams,
    ordered,
    models,
    unpricedModels,
    defaultModel: firstOffered(models, wanted === undefined ? [...usual, ...models.keys()] : [wanted]),
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

/** Operations whose prices are those of their models. */
export const pricedByModel = ({ price }: Operation): boolean =>
  price.kind === "per_token" || price.kind === "per_second";

/** Undefined when no upstream of the operation knows the model; `unpriced` when one does, and nobody set a price. */
function offerModel(
  operation: SoldOperation,
  kind: ModelKind,
  model: Model,
  { upstreams, ordered }: Pick<OfferedOperation, "upstreams" | "ordered">,
  gaps: string[],
): OfferedModel | "unpriced" | undefined {
  if (!model.kinds.includes(kind)) return undefined;
  const free = operation.price.kind === "free";
  const lacksOutput = !free && paysForOutput.has(kind) && model.price?.["output_tokens"] === undefined;
  if (model.price && lacksOutput) {
    gaps.push(`models.${model.id}: no price for output, so it is not offered for ${operation.id}`);
  }
  const fitting = upstreams.filter((upstream) => hasModel(upstream, model));
  const { via } = model;
  if (via !== undefined) fitting.sort((a, b) => via.indexOf(a.name) - via.indexOf(b.name));
  if (fitting.length === 0) return undefined;
  if (!model.price || lacksOutput) return "unpriced";
  const price = free ? {} : kind === "chat" ? completePrice(model.price) : model.price;
  return {
    id: model.id,
    namesAt: model.namesAt,
    terms: createTerms(operation.id, model.id, price),
    facts: {
      names: fitting.map(({ name }) => model.namesAt.get(name) ?? model.id),
      protocols: fitting.map(({ protocol }) => protocol),
      maxOutputTokens: model.maxOutputTokens,
      outputTokensMax: model.outputTokensMax,
      contextTokens: model.contextTokens,
      dearestInputUnit: dearestOf(price, readUnits) ?? "input_tokens",
      dearestHeardUnit:
        price["input_audio_tokens"] === undefined
          ? undefined
          : dearestOf(price, [...readUnits, "input_audio_tokens", "cache_read_audio_tokens"]),
      dearestSpokenUnit:
        price["output_audio_tokens"] === undefined
          ? undefined
          : dearestOf(price, ["output_tokens", "output_audio_tokens"]),
      allowsHostedTools: fitting.every(({ hostedTools }) => hostedTools === "allow"),
      usualVideo: model.usualVideo,
    },
    upstreams: fitting,
    ordered: ordered || via !== undefined,
  };
}

const readUnits = ["input_tokens", "cache_read_tokens", "cache_write_tokens", "cache_write_1h_tokens"];

/** Of two that cost the same, the first. */
const dearestOf = (price: Readonly<Record<string, Pico>>, units: readonly string[]): string | undefined =>
  units
    .filter((unit) => price[unit] !== undefined)
    .toSorted((a, b) => Number((price[b] ?? 0n) - (price[a] ?? 0n)))[0];

const paysForOutput: ReadonlySet<ModelKind> = new Set(["chat", "image"]);

/** Cached tokens are input tokens: where nobody set a price of their own for them, they cost the same. */
const completePrice = (price: Readonly<Record<string, Pico>>): Record<string, Pico> => {
  const input = price["input_tokens"] ?? 0n;
  const heard = price["input_audio_tokens"];
  return {
    input_tokens: input,
    cache_read_tokens: input,
    cache_write_tokens: input,
    cache_write_1h_tokens: input,
    ...(heard === undefined ? {} : { cache_read_audio_tokens: heard }),
    ...price,
  };
};

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

/** A price in words that do not fit the operation would be ignored; the operator must hear of it. */
function checkPriceWords(
  { id, price }: Operation,
  written: OperationConfig | undefined,
  gaps: string[],
): void {
  const byWhat = price.kind === "by_cost" ? "what its vendor reports" : "its models";
  if (written?.priceUsdPico !== undefined && price.kind !== "per_unit") {
    gaps.push(`operations.${id}.price_usd: this operation is priced by ${byWhat}`);
  }
  if (price.kind === "by_cost") return;
  if (written?.costFactorPpm !== undefined || written?.maxCostMicros !== undefined) {
    gaps.push(
      `operations.${id}: cost_factor and max_cost_usd are for operations priced by what their vendor reports`,
    );
  }
}

/** An operation nobody serves is not a route; one without a price stays a route that says so. */
function servable(
  { operation, upstreams, terms, models, unpricedModels }: OfferedOperation,
  catalogue: Catalogue,
  config: Config,
  sandboxUrl: string | undefined,
  gaps: string[],
): boolean {
  for (const { name, link } of upstreams) {
    const gap = `upstreams.${name}: ${noLink}`;
    if (isSold(operation) && operation.link && !link && !gaps.includes(gap)) gaps.push(gap);
  }
  if (models.size + unpricedModels.size === 0 && areOff(operation, catalogue, config.modelsOff)) {
    gaps.push(`${operation.id}: all of its models are off`);
    // Tasks that were begun before go on, and whoever serves them is found by this operation.
    return isSold(operation) && operation.task !== undefined && upstreams.length > 0;
  }
  if (upstreams.length === 0) {
    gaps.push(
      `${operation.id}: no upstream ${sandboxUrl === undefined ? "serves it and the sandbox is off" : "has a model for it"}`,
    );
    return false;
  }
  if (operation.price.kind === "per_unit" && !terms) gaps.push(`${operation.id}: no price`);
  if (pricedByModel(operation) && models.size === 0) gaps.push(`${operation.id}: no model with a price`);
  return true;
}

/** Whether the gateway can answer it itself, beside what is sold. */
const isAnswerable = (operation: Operation, sold: readonly OfferedOperation[]): boolean =>
  !isSold(operation) &&
  (!("beginsLinks" in operation) || sold.some(({ upstreams }) => upstreams.some(({ link }) => link)));

function areOff({ price }: Operation, catalogue: Catalogue, modelsOff: ReadonlySet<string>): boolean {
  const kind = "modelKind" in price ? price.modelKind : undefined;
  const shipped = catalogue.models.filter((model) => model.kind === kind);
  return shipped.length > 0 && shipped.every(({ id }) => modelsOff.has(id));
}

const noLink = "protocol x needs authorize_url, token_url and client_id, or nobody can link an account";

const pricesOf = ({ operation, terms, models }: OfferedOperation): RecordedPrice[] => [
  ...(terms ? [{ operationId: operation.id, model: undefined, terms }] : []),
  ...(operation.price.kind === "free" ? [] : [...models.values()]).map((model) => ({
    operationId: operation.id,
    model: model.id,
    terms: model.terms,
  })),
];

/** A name that nothing bears would be ignored; the operator must hear of it. */
function checkModelNames(catalogue: Catalogue, config: Config, gaps: string[]): void {
  const known = new Set([...catalogue.models.map(({ id }) => id), ...config.models.keys()]);
  for (const id of config.modelsOff) {
    if (!known.has(id)) gaps.push(`models.${id}: there is no such model to be off`);
  }
  for (const [name, { models }] of config.upstreams) {
    const unknown = [...(models ?? [])].filter((id) => !known.has(id));
    gaps.push(
      ...unknown.map((id) => `upstreams.${name}.models: ${id} is not known; give it a price under models`),
    );
  }
}
