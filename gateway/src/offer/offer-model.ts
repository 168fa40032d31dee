import { modelKindOf, type Operation } from "../operation/operation.ts";
import { limitWordFor, thinksBeside } from "../operation/limit-word.ts";
import type { Upstream } from "../operation/upstream.ts";
import { createTerms } from "../prices/terms.ts";
import { allTokenUnits } from "../prices/token-units.ts";
import type { Pico } from "../platform/money.ts";
import type { Model } from "./merge-models.ts";
import { missingPrices } from "./missing-prices.ts";
import { nameAt } from "./name-at.ts";
import type { OfferedModel, OfferedOperation } from "./offer.ts";
import { hasModel } from "./serving-upstreams.ts";

/**
 * Undefined when no upstream of the operation knows the model; `unpriced` when one does, and nobody set a price for what it is
 * sold by.
 */
export function offerModel(
  operation: Operation,
  model: Model,
  { upstreams, ordered }: Pick<OfferedOperation, "upstreams" | "ordered">,
): OfferedModel | "unpriced" | undefined {
  const kind = modelKindOf(operation);
  if (kind === undefined || !model.kinds.includes(kind)) return undefined;
  const fitting = upstreams.filter((upstream) => hasModel(upstream, model));
  const { via } = model;
  if (via !== undefined) fitting.sort((a, b) => via.indexOf(a.name) - via.indexOf(b.name));
  if (fitting.length === 0) return undefined;
  if (!model.price || missingPrices(operation, model).length > 0) return "unpriced";
  const besideAt = fitting.map((upstream) => thinksBeside(upstream, nameAt(model, upstream.name)));
  const limitWords = fitting.map((upstream) => limitWordFor(upstream, nameAt(model, upstream.name)));
  const price =
    operation.price.kind === "free" ? {} : kind === "chat" ? completePrice(model.price) : model.price;
  return {
    id: model.id,
    namesAt: model.namesAt,
    terms: createTerms(operation.id, model.id, price),
    hasCacheWritePrice: model.price["cache_write_tokens"] !== undefined,
    facts: {
      names: fitting.map(({ name }) => nameAt(model, name)),
      protocols: fitting.map(({ protocol }) => protocol),
      dialectsAt: fitting.map(dialectsOf),
      unaskedOutputTokensMax: model.unaskedOutputTokensMax,
      outputTokensMax: model.outputTokensMax,
      // The newer one is told to each vendor in the word that it knows; the older one stays, and may be refused.
      limitWord: limitWords.includes("max_completion_tokens") ? "max_completion_tokens" : "max_tokens",
      thinksBeside: besideAt.includes("any_limit") ? "any_limit" : besideAt.find(Boolean),
      contextTokens: model.contextTokens,
      dearestInputUnit: dearestOf(price, readUnits) ?? "input_tokens",
      dearestHeardUnit: price["input_audio_tokens"] === undefined ? undefined : dearestOf(price, heardUnits),
      dearestSpokenUnit:
        price["output_audio_tokens"] === undefined ? undefined : dearestOf(price, spokenUnits),
      allowsHostedTools: fitting.every(({ hostedTools }) => hostedTools === "allow"),
      usualVideo: model.usualVideo,
    },
    upstreams: fitting,
    ordered: ordered || via !== undefined,
  };
}

/** Whose server does not know OpenAI's Responses is asked for a conversation in its place. */
const dialectsOf = ({ protocol, responses }: Upstream): readonly string[] =>
  protocol === "openai" && responses !== "translated" ? [protocol, "responses"] : [protocol];

const inputUnits = allTokenUnits.filter(({ total }) => total !== "output");

/** All ways in which a token can be billed: of input that is read, of input some of which is heard, of a spoken answer. */
const readUnits = inputUnits.filter(({ soldAs }) => soldAs === undefined).map(({ unit }) => unit);
const heardUnits = inputUnits.map(({ unit }) => unit);
const spokenUnits = allTokenUnits.filter(({ total }) => total === "output").map(({ unit }) => unit);

/** The first, where two cost the same. */
const dearestOf = (price: Readonly<Record<string, Pico>>, units: readonly string[]): string | undefined =>
  units
    .filter((unit) => price[unit] !== undefined)
    .toSorted((a, b) => Number((price[b] ?? 0n) - (price[a] ?? 0n)))[0];

/**
 * Cached tokens are input tokens: where nobody set a price of their own for them, they cost the same. What is kept for an hour costs
 * no less than what is kept for minutes.
 */
function completePrice(price: Readonly<Record<string, Pico>>): Record<string, Pico> {
  const input = price["input_tokens"] ?? 0n;
  const written = price["cache_write_tokens"] ?? input;
  const heard = price["input_audio_tokens"];
  return {
    input_tokens: input,
    cache_read_tokens: input,
    cache_write_tokens: written,
    cache_write_1h_tokens: written,
    ...(heard === undefined ? {} : { cache_read_audio_tokens: heard }),
    ...price,
  };
}
