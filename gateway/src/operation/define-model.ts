import type { ModelKind } from "./operation.ts";

/** A model the catalogue offers out of the box. Prices are USD per 1,000,000 tokens, as written. */
export interface CatalogueModel {
  readonly id: string;
  readonly kind: ModelKind;
  /** The vendor protocols under which this model is known by this name. */
  readonly protocols: readonly string[];
  readonly price: ModelPrice;
  readonly maxOutputTokens?: number;
  /** The most a conversation can hold, input and output together. */
  readonly contextTokens?: number;
}

interface ModelPrice {
  readonly input: string;
  readonly output?: string;
  readonly cache_read?: string;
  readonly cache_write?: string;
  readonly cache_write_1h?: string;
}

export function defineModel(model: CatalogueModel): CatalogueModel {
  defined.add(model);
  return Object.freeze(model);
}

const defined = new WeakSet<object>();

export const isCatalogueModel = (value: unknown): value is CatalogueModel =>
  typeof value === "object" && value !== null && defined.has(value);
