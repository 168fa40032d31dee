import type { TokenWord } from "../prices/token-units.ts";
import type { ModelKind } from "./model-kind.ts";
import type { SecondWord, VideoShape } from "./video-seconds.ts";

/** A model the catalogue offers out of the box. Prices are USD as written: per 1,000,000 tokens, or per second of video. */
export interface CatalogueModel {
  readonly id: string;
  readonly kind: ModelKind;
  /** The vendor protocols under which this model is known by this name. */
  readonly protocols: readonly string[];
  readonly price: ModelPrice;
  /** What it writes at most when the caller sets no limit. */
  readonly unaskedOutputTokensMax?: number;
  /** The highest limit that its vendor takes. */
  readonly outputTokensMax?: number;
  /** The most a conversation can hold, input and output together. */
  readonly contextTokens?: number;
  /** The video it makes when the request leaves length or resolution open. */
  readonly usualVideo?: Partial<VideoShape>;
}

type ModelPrice = TokenPrice | SecondPrice;

type TokenPrice = Readonly<{ input: string } & Partial<Record<TokenWord, string>>>;

type SecondPrice = Readonly<Partial<Record<SecondWord, string>>>;

export function defineModel(model: CatalogueModel): CatalogueModel {
  defined.add(model);
  return Object.freeze(model);
}

const defined = new WeakSet<object>();

export const isCatalogueModel = (value: unknown): value is CatalogueModel =>
  typeof value === "object" && value !== null && defined.has(value);
