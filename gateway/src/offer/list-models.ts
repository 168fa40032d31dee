import { priceWordOf } from "../config/price-words.ts";
import type { Allowed } from "../keys/allowed-names.ts";
import type { ModelListing } from "../operation/self-service.ts";
import type { ModelFacts } from "../operation/price-contract.ts";
import { resolutionName } from "../operation/video-seconds.ts";
import { usdFromPico, type Pico } from "../platform/money.ts";
import { mayUseModel, mayUseOperation } from "./may-use.ts";
import type { Offer } from "./offer.ts";

const everything: Allowed = { allowedModels: undefined, allowedOperations: undefined };

/** Every model that can be called now, by whoever asks, with its price: the model catalogue. */
export function listModels(offer: Pick<Offer, "operations">, allowed: Allowed = everything): ModelListing[] {
  const listed = new Map<string, ModelListing>();
  for (const { operation, models } of offer.operations.values()) {
    const { price } = operation;
    if (price.kind !== "per_token" && price.kind !== "per_second") continue;
    if (!mayUseOperation(allowed, operation)) continue;
    for (const model of models.values()) {
      // A model that several operations offer is listed as what it is offered for first: conversations.
      if (listed.has(model.id) || !mayUseModel(allowed, model.id)) continue;
      listed.set(model.id, {
        id: model.id,
        kind: price.modelKind,
        owned_by: model.upstreams[0]?.name ?? "unknown",
        max_output_tokens: price.modelKind === "chat" ? mostOutputTokens(model.facts) : null,
        default_output_tokens: price.modelKind === "chat" ? unaskedOutputTokens(model.facts) : null,
        context_tokens: model.facts.contextTokens ?? null,
        ...listPrices(price.kind, model.terms.unitPricesPico),
        price_version: model.terms.version,
      });
    }
  }
  return [...listed.values()];
}

/** The limit that its vendor takes. Where nobody wrote that down, only the limit that we send is known. */
const mostOutputTokens = ({ outputTokensMax, unaskedOutputTokensMax }: ModelFacts): number =>
  outputTokensMax ?? unaskedOutputTokensMax;

/** An operator may let a model write more unasked than its vendor takes; more than that is not written. */
const unaskedOutputTokens = (facts: ModelFacts): number =>
  Math.min(facts.unaskedOutputTokensMax, mostOutputTokens(facts));

const listPrices = (kind: "per_token" | "per_second", unitPricesPico: Readonly<Record<string, Pico>>) =>
  kind === "per_token"
    ? { price_usd_per_million_tokens: pricesPerMillion(unitPricesPico) }
    : { price_usd_per_million_tokens: {}, price_usd_per_second: pricesPerSecond(unitPricesPico) };

/** By resolution, such as `720p`. */
const pricesPerSecond = (unitPricesPico: Readonly<Record<string, Pico>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(unitPricesPico).map(([unit, pico]) => [resolutionName(unit), usdFromPico(pico)]),
  );

const pricesPerMillion = (unitPricesPico: Readonly<Record<string, Pico>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(unitPricesPico).map(([unit, pico]) => [priceWordOf(unit), usdFromPico(pico * 1_000_000n)]),
  );
