import { priceOf } from "../../../contract/price-of.ts";
import { priceInWords } from "../../../contract/sales-items.ts";
import { specifiedTiers, type TierLimits } from "../../../limits/tiers.ts";
import { listModels } from "../../../offer/list-models.ts";
import type { Offer, OfferedOperation } from "../../../offer/offer.ts";
import type { ModelListing } from "../../../operation/self-service.ts";
import type { Operation } from "../../../operation/operation.ts";
import { resolutionName, secondWords } from "../../../operation/video-seconds.ts";
import type { Table } from "./blocks.ts";

export type Category = Operation["category"];
export const categories: readonly Category[] = ["models", "data", "account"];

/** What somebody is looking for in the price list. */
export interface Search {
  readonly words: string;
  readonly category: Category | undefined;
}

/** All operations that fit the search, with their prices. */
export function operationPrices(offer: Offer, search: Search): Table {
  const rows = sorted(offer)
    .filter(({ operation, path }) => {
      const { id, title, summary, category } = operation;
      return fits(search, category, [id, title, summary, category, path]);
    })
    .map((offered) => [
      `[${offered.operation.title}](/docs/operations/${offered.operation.id}) \`${offered.operation.id}\``,
      `\`${offered.operation.method} ${offered.path}\``,
      priceWords(offered),
    ]);
  return {
    kind: "table",
    caption: "Operations",
    columns: ["Operation", "Request", "Price"],
    aside: [1],
    rows,
  };
}

/** All models that fit the search and are paid by the token, USD per 1,000,000 tokens. */
export function modelPrices(offer: Offer, search: Search): Table {
  const models = modelsFound(offer, search).filter(({ kind }) => kind !== "video");
  const prices = modelPriceColumns.filter(
    ({ isNeededFor }) =>
      isNeededFor === undefined || models.some((model) => isNeededFor(model.price_usd_per_million_tokens)),
  );
  const rows = models.map(({ id, kind, price_usd_per_million_tokens: price, context_tokens: context }) => [
    `\`${id}\``,
    ...prices.map(({ word }) => price[word] ?? "–"),
    context === null ? "–" : context.toLocaleString("en-US"),
    kindWords[kind] ?? kind,
  ]);
  return {
    kind: "table",
    caption: "Models, USD per 1,000,000 tokens",
    columns: ["Model", ...prices.map(({ title }) => title), "Context", "For"],
    figures: [...prices, "context"].map((_, at) => at + 1),
    rows,
  };
}

/** All models that fit the search and are paid by the second of video, USD per second by resolution. */
export function videoModelPrices(offer: Offer, search: Search): Table {
  const models = modelsFound(offer, search).filter(({ kind }) => kind === "video");
  const resolutions = secondWords
    .map(resolutionName)
    .filter((resolution) => models.some(({ price_usd_per_second: price }) => price?.[resolution]));
  const rows = models.map(({ id, price_usd_per_second: price }) => [
    `\`${id}\``,
    ...resolutions.map((resolution) => price?.[resolution] ?? "–"),
  ]);
  return {
    kind: "table",
    caption: "Video models, USD per second",
    columns: ["Video model", ...resolutions],
    figures: resolutions.map((_, at) => at + 1),
    rows,
  };
}

const modelsFound = (offer: Offer, search: Search): ModelListing[] =>
  listModels(offer)
    .filter(({ id, kind }) => fits(search, "models", [id, kind, kindWords[kind] ?? kind]))
    .toSorted((a, b) => order(a.kind, b.kind) || order(a.id, b.id));

/** What a key may do in a minute and at once, by tier. */
export const tierLimits = ({ tiers }: Offer): Table => ({
  kind: "table",
  caption: "Limits of a key, by tier",
  columns: ["Tier", "Requests a minute", "Tokens a minute", "Streams and long calls at once"],
  figures: [1, 2, 3],
  rows: Object.entries(tiers).map(([name, limits]) => [sentence(name), ...limitWords(name, limits)]),
});

/** Until the operator has written figures for it, Enterprise is what is agreed on. */
function limitWords(name: string, { rpm, tpm, concurrency }: TierLimits): string[] {
  const { enterprise } = specifiedTiers;
  const isOpen =
    name === "enterprise" &&
    rpm === enterprise.rpm &&
    tpm === enterprise.tpm &&
    concurrency === enterprise.concurrency;
  return [rpm, tpm, concurrency].map((figure) => (isOpen ? "by agreement" : figure.toLocaleString("en-US")));
}

/** In the order of the list: by category, then as people would look them up. */
export const sorted = (offer: Offer): OfferedOperation[] =>
  [...offer.operations.values()].toSorted(
    ({ operation: a }, { operation: b }) =>
      categories.indexOf(a.category) - categories.indexOf(b.category) || order(a.id, b.id),
  );

export const sentence = (words: string): string => words.slice(0, 1).toUpperCase() + words.slice(1);

/** A price by model says how far the models are apart. */
export function priceWords(offered: OfferedOperation): string {
  const price = priceOf(offered);
  if (price.kind === "per_second") return sentence(videoPrices(price.models));
  if (price.kind !== "per_token") return sentence(priceInWords(price));
  const spans = (["input", "output"] as const).flatMap((word) => {
    const figures = price.models
      .flatMap(({ usd_per_unit: usd }) => usd[word] ?? [])
      .toSorted((a, b) => Number(a) - Number(b));
    const [least, most = least] = [figures[0], figures.at(-1)];
    return least === undefined ? [] : [`${word} ${least === most ? least : `${least} to ${most}`}`];
  });
  return `[By model](/prices#models): ${spans.join(", ")} USD per 1,000,000 tokens`;
}

/** Few enough to be told whole: each model, and what a second costs in each resolution. */
const videoPrices = (
  models: readonly { readonly model: string; readonly usd_per_unit: Readonly<Record<string, string>> }[],
): string =>
  models
    .map(({ model, usd_per_unit: usd }) => {
      const prices = Object.entries(usd).map(([unit, price]) => `${price} USD (${resolutionName(unit)})`);
      return `\`${model}\` ${prices.join(" or ")} a second`;
    })
    .join("; ");

interface PriceColumn {
  readonly word: string;
  readonly title: string;
  /** The table has the column where a model needs it; without this, always. */
  readonly isNeededFor?: (price: Readonly<Record<string, string>>) => boolean;
}

const modelPriceColumns: readonly PriceColumn[] = [
  { word: "input", title: "Input" },
  { word: "output", title: "Output" },
  { word: "cache_read", title: "Cache read" },
  { word: "cache_write", title: "Cache write" },
  {
    word: "cache_write_1h",
    title: "1 h cache write",
    isNeededFor: ({ cache_write_1h: hour, cache_write: minutes }) => hour !== minutes,
  },
  { word: "input_audio", title: "Audio input", isNeededFor: (price) => "input_audio" in price },
  {
    word: "cache_read_audio",
    title: "Audio cache read",
    isNeededFor: (price) => "cache_read_audio" in price,
  },
  { word: "output_audio", title: "Audio output", isNeededFor: (price) => "output_audio" in price },
];

const kindWords: Readonly<Record<string, string>> = {
  chat: "Conversation",
  rerank: "Rerank",
  embedding: "Embedding",
  image: "Image",
  video: "Video",
};

/** As people look names up: gpt-9 before gpt-10, and a capital beside its small letter. */
const { compare: order } = new Intl.Collator("en", { numeric: true });

/** Every word must stand somewhere; case and order do not matter. */
function fits({ words, category }: Search, of: Category, texts: readonly string[]): boolean {
  if (category !== undefined && category !== of) return false;
  const all = texts.join(" ").toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}
