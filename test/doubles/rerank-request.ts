// The part of a rerank request that Jina, Cohere and Voyage check alike, each in its own words.

import type { RankRequest } from "./ranking.ts";
import { isObject, isPositiveInteger } from "./vendor-checks.ts";
import type { JsonObject } from "./vendor-checks.ts";

export interface RerankRequest extends RankRequest {
  readonly model: string;
  /** How many results were asked for; the number of documents when not said, or beyond it. */
  readonly top: number;
}

/** The request, or the name of the first field that is missing or wrong. */
export function readRerankRequest(
  body: JsonObject,
  { topField, textObjects }: { readonly topField: string; readonly textObjects: boolean },
): RerankRequest | string {
  const { model, query, documents } = body;
  if (typeof model !== "string" || model === "") return "model";
  if (typeof query !== "string" || query === "") return "query";
  if (!Array.isArray(documents) || documents.length === 0) return "documents";
  const texts = documents.map((document: unknown) => textOf(document, textObjects));
  if (!texts.every((text) => text !== undefined)) return "documents";
  const top = body[topField] ?? texts.length;
  if (!isPositiveInteger(top)) return topField;
  return { model, query, documents: texts, top: Math.min(top, texts.length) };
}

function textOf(document: unknown, textObjects: boolean): string | undefined {
  if (typeof document === "string") return document;
  if (!textObjects || !isObject(document)) return undefined;
  return typeof document["text"] === "string" ? document["text"] : undefined;
}
