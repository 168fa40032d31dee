import type { Config } from "../config/config.ts";
import type { Catalogue } from "../operation/catalogue.ts";
import { isSold, modelKindOf, type Operation } from "../operation/operation.ts";
import type { Gap } from "./advice/gap.ts";
import type { OfferedOperation, OfferSources } from "./offer.ts";

/** An operation nobody serves is not a route; one without a price stays a route that says so. */
export function isServed(one: OfferedOperation, sources: OfferSources): boolean {
  const { operation, upstreams } = one;
  if (!isSold(operation)) return false;
  const why = whyNotServed(one, sources);
  // Tasks that began before go on, and their upstreams are found through this operation.
  const hasTasks = operation.task !== undefined && upstreams.length > 0;
  return why === undefined || (why === "models_off" && hasTasks);
}

type WhyNotServed = Extract<Gap["kind"], "models_off" | "sandbox_off" | "no_model">;

export function whyNotServed(
  { operation, upstreams, models, unpricedModels }: OfferedOperation,
  { catalogue, config, sandboxUrl }: OfferSources,
): WhyNotServed | undefined {
  if (models.size + unpricedModels.size === 0 && areOff(operation, catalogue, config)) return "models_off";
  if (upstreams.length > 0) return undefined;
  return sandboxUrl === undefined ? "sandbox_off" : "no_model";
}

function areOff(operation: Operation, catalogue: Catalogue, { modelsOff }: Config): boolean {
  const kind = modelKindOf(operation);
  const shipped = catalogue.models.filter((model) => model.kind === kind);
  return shipped.length > 0 && shipped.every(({ id }) => modelsOff.has(id));
}
