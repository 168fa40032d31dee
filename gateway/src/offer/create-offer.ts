import type { Config } from "../config/config.ts";
import type { RecordedPrice } from "../ledger/ledger.ts";
import type { ModelListing } from "../operation/self-service.ts";
import type { Catalogue } from "../operation/catalogue.ts";
import { isSold, type Operation } from "../operation/operation.ts";
import { checkVia } from "./check-via.ts";
import { createConventions, findKeyRoots } from "./conventions.ts";
import { doubtfulModels } from "./advice/doubtful-models.ts";
import { doubtfulPrices } from "./advice/doubtful-prices.ts";
import { doubtfulUpstreams } from "./advice/doubtful-upstreams.ts";
import { findGaps } from "./advice/find-gaps.ts";
import { isServed } from "./is-served.ts";
import { listModels } from "./list-models.ts";
import { mergeModels, type Model } from "./merge-models.ts";
import { offerOperation } from "./offer-operation.ts";
import type { HeaderNames, Offer, OfferedOperation, OfferSources } from "./offer.ts";
import { createRoutes } from "./routes.ts";
import { findTaskUpstreams } from "./task-upstreams.ts";

/** Binds the catalogue to a configuration; throws ConfigError when they do not fit. */
export function createOffer(catalogue: Catalogue, config: Config, sandboxUrl: string | undefined): Offer {
  checkVia(catalogue, config);
  const sources: OfferSources = { catalogue, config, sandboxUrl };
  const models = mergeModels(catalogue, config);
  const conventionsOf = createConventions(catalogue.operations, config.names);
  const offered = catalogue.operations.map((operation) =>
    offerOperation(operation, { ...sources, models }, conventionsOf),
  );
  const sold = offered.filter((one) => isServed(one, sources));
  const listed = listModels({ operations: byId(sold) });
  const served = offered
    .filter((one) => sold.includes(one) || isAnswerable(one.operation, sold))
    .map((one) => ({ ...one, toldModels: toldModels(one.operation, listed) }));
  return Object.freeze({
    names: config.names,
    headers: headerNames(config.names.provider.toLowerCase()),
    routes: createRoutes(served),
    conventionsOf,
    keyRoots: findKeyRoots(catalogue.operations, config.names),
    operations: byId(served),
    tiers: config.tiers,
    sandboxUrl,
    links: config.links,
    taskUpstreams: findTaskUpstreams(offered, config),
    prices: served.flatMap(pricesOf),
    gaps: findGaps({ ...sources, models, offered }),
    notes: [
      ...models.filter(isTakenForEmbedding(catalogue)).map(({ id }) => `models.${id}: ${embeddingsOnly}`),
      ...doubtfulModels(catalogue, config, served),
      ...doubtfulPrices(catalogue, config),
      ...doubtfulUpstreams(config),
    ],
  });
}

/** Whether the gateway can answer it itself, beside what is sold. */
const isAnswerable = (operation: Operation, sold: readonly OfferedOperation[]): boolean =>
  !isSold(operation) &&
  (!("beginsLinks" in operation) || sold.some(({ upstreams }) => upstreams.some(({ link }) => link)));

const byId = (offered: readonly OfferedOperation[]): Map<string, OfferedOperation> =>
  new Map(offered.map((one) => [one.operation.id, one]));

/** The listed models that an operation can describe. */
const toldModels = ({ tellsOfModel }: Operation, listed: readonly ModelListing[]): string[] =>
  tellsOfModel
    ? listed
        .filter(({ kind }) => tellsOfModel.kind === undefined || tellsOfModel.kind === kind)
        .map(({ id }) => id)
    : [];

const headerNames = (provider: string): HeaderNames => ({
  costMode: `x-${provider}-cost-mode`,
  maxPriceUsd: `x-${provider}-max-price-usd`,
  costMicrosUsd: `x-${provider}-cost-micros-usd`,
  upstream: `x-${provider}-upstream`,
  asyncMode: `x-${provider}-async`,
});

const pricesOf = ({ operation, terms, models }: OfferedOperation): RecordedPrice[] => [
  ...(terms ? [{ operationId: operation.id, model: undefined, terms }] : []),
  ...(operation.price.kind === "free" ? [] : [...models.values()]).map((model) => ({
    operationId: operation.id,
    model: model.id,
    terms: model.terms,
  })),
];

/** Told to the operator, because a chat model whose price of output was forgotten looks the same. */
const embeddingsOnly = "no price for output, so it is offered for embeddings only";

const isTakenForEmbedding =
  (catalogue: Catalogue) =>
  ({ id, kinds }: Model): boolean =>
    kinds.every((kind) => kind === "embedding") && !catalogue.models.some((shipped) => shipped.id === id);
