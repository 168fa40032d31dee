import type { Config } from "../config/config.ts";
import type { ModelConfig } from "../config/model-config.ts";
import { tokenPrices } from "../config/price-words.ts";
import type { Catalogue } from "../operation/catalogue.ts";
import type { CatalogueModel } from "../operation/define-model.ts";
import type { ModelKind } from "../operation/model-kind.ts";
import { onlyReranks } from "../operation/vendors.ts";
import { secondWords, type VideoShape } from "../operation/video-seconds.ts";
import { picoFromUsd, picoFromUsdPerMillion, type Pico } from "../platform/money.ts";
import { kindsOf } from "./check-via.ts";

/** A model that names no limit of its own may answer this much; it is also what is sent upstream. */
const unaskedOutputTokensMaxUsual = 4_096;

/** A model of the catalogue, of the operator's own, or of both, before anybody serves it. */
export interface Model {
  readonly id: string;
  /** What it is offered for. */
  readonly kinds: readonly ModelKind[];
  readonly protocols: readonly string[] | undefined;
  readonly via: readonly string[] | undefined;
  readonly namesAt: ReadonlyMap<string, string>;
  /** Undefined when nobody set one. */
  readonly price: Readonly<Record<string, Pico>> | undefined;
  readonly unaskedOutputTokensMax: number;
  readonly outputTokensMax: number | undefined;
  readonly contextTokens: number | undefined;
  readonly usualVideo: Partial<VideoShape>;
}

/** What the operator writes about a model overrides the catalogue, word by word. */
export function mergeModels(catalogue: Catalogue, config: Config): Model[] {
  const merged: Model[] = [];
  for (const [id, written] of config.models) {
    const shipped = catalogue.models.find((model) => model.id === id);
    const price = written.price ?? (shipped && shippedPrice(shipped));
    merged.push(configuredModel(id, written, shipped, price, config));
  }
  for (const shipped of catalogue.models) {
    if (config.models.has(shipped.id) || config.modelsOff.has(shipped.id)) continue;
    merged.push({
      id: shipped.id,
      kinds: [shipped.kind],
      protocols: shipped.protocols,
      via: undefined,
      namesAt: new Map(),
      price: shippedPrice(shipped),
      unaskedOutputTokensMax: shipped.unaskedOutputTokensMax ?? unaskedOutputTokensMaxUsual,
      outputTokensMax: shipped.outputTokensMax,
      contextTokens: shipped.contextTokens,
      usualVideo: shipped.usualVideo ?? {},
    });
  }
  return merged;
}

function configuredModel(
  id: string,
  written: ModelConfig,
  shipped: CatalogueModel | undefined,
  price: Model["price"],
  config: Config,
): Model {
  const protocols = written.via?.map((name) => config.upstreams.get(name)?.protocol ?? "");
  return {
    id,
    kinds: shipped ? [shipped.kind] : kindsBy(protocols ?? [], written),
    protocols: shipped?.protocols,
    via: written.via,
    namesAt: written.namesAt,
    price,
    unaskedOutputTokensMax:
      written.unaskedOutputTokensMax ?? shipped?.unaskedOutputTokensMax ?? unaskedOutputTokensMaxUsual,
    // What a model of the operator's own is sent with is the highest limit that anybody knows its vendor to take.
    outputTokensMax: shipped ? shipped.outputTokensMax : written.unaskedOutputTokensMax,
    contextTokens: written.contextTokens ?? shipped?.contextTokens,
    usualVideo: shipped?.usualVideo ?? {},
  };
}

/** What a model of the operator's own is for, where it shows; otherwise whatever its upstream does. */
function kindsBy(protocols: readonly string[], written: ModelConfig): readonly ModelKind[] {
  const { price, unaskedOutputTokensMax } = written;
  if (protocols.length > 0 && protocols.every(onlyReranks)) return ["rerank"];
  if (price && secondWords.some((word) => price[word] !== undefined)) return ["video"];
  // Only a price by the second makes a model one for video; nothing else about it shows that.
  const kinds = kindsOf(written).filter((kind) => kind !== "video" || !price);
  if (protocols.length === 0) return kinds;
  // Only embeddings have no output to pay for. A limit on output shows that its price was forgotten.
  const onlyInput =
    price !== undefined && price["output_tokens"] === undefined && unaskedOutputTokensMax === undefined;
  return onlyInput && protocols.every((protocol) => protocol === "openai") ? ["embedding"] : kinds;
}

function shippedPrice(model: CatalogueModel): Record<string, Pico> {
  const pico: Record<string, Pico | undefined> = {};
  const written: readonly [string, string][] = Object.entries({ ...model.price });
  for (const [word, usd] of written) {
    pico[word] = word.startsWith("second_") ? picoFromUsd(usd) : picoFromUsdPerMillion(usd);
  }
  return tokenPrices(pico);
}
