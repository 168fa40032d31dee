// What the three rerank vendors share: a checked request, a ranking, and a count of tokens.
// The names of the members are each vendor's own.

import { rank, type Ranked } from "./ranking.ts";
import { countTokens } from "./tokens.ts";
import { bearerOf, isObject, parseObject, type JsonObject, type VendorCall } from "./vendor.ts";

export interface Reranked {
  readonly request: JsonObject;
  readonly model: string;
  readonly documents: readonly string[];
  /** Best first, cut to what was asked for. */
  readonly ranked: readonly Ranked[];
  readonly tokens: number;
}

/** What is wrong, for the vendor to put in its own words; `invalid` is about the body. */
export interface RerankRefused {
  readonly refused: "missing_key" | "wrong_key" | "path" | "method" | "invalid";
  readonly message: string;
}

export function runRerank(
  call: VendorCall,
  { key, topName }: { key: string; topName: string },
): Reranked | RerankRefused {
  const bearer = bearerOf(call.headers);
  if (bearer === undefined) return { refused: "missing_key", message: "no api key supplied" };
  if (bearer !== key) return { refused: "wrong_key", message: "invalid api key" };
  if (call.path !== "/rerank") return { refused: "path", message: `path ${call.path} not found` };
  if (call.method !== "POST") return { refused: "method", message: "method not allowed" };

  const request = parseObject(call.body);
  if (request === undefined) return invalid("the body must be a JSON object");

  const { model, query } = request;
  if (typeof model !== "string" || model === "") return invalid("model: a string is required");
  if (typeof query !== "string" || query === "")
    return invalid("query: a string that is not empty is required");

  const documents = readDocuments(request["documents"]);
  if (documents === undefined) return invalid("documents: a list of at least one string is required");

  const top = request[topName] ?? documents.length;
  if (typeof top !== "number" || !Number.isInteger(top) || top < 1)
    return invalid(`${topName}: a positive integer is required`);

  // Every document is read together with the query, so the query is paid once per document.
  const tokens =
    countTokens(query) * documents.length + documents.reduce((sum, text) => sum + countTokens(text), 0);
  return { request, model, documents, ranked: rank(query, documents).slice(0, top), tokens };
}

const invalid = (message: string): RerankRefused => ({ refused: "invalid", message });

function readDocuments(value: unknown): string[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const texts = value.map((document: unknown) => (isObject(document) ? document["text"] : document));
  return texts.every((text) => typeof text === "string") ? texts : undefined;
}
