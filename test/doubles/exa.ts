// Exa: search whose answer names its price in dollars.

import { stringOf } from "./json-read.ts";
import type { Answer } from "./scripted-answer.ts";
import { openVendorDouble } from "./vendor-double.ts";
import type { Handler } from "./vendor-double.ts";
import {
  createIds,
  hasHeader,
  isObject,
  isPositiveInteger,
  jsonAnswer,
  readJsonObject,
  resolveOverride,
  unknownField,
} from "./vendor-checks.ts";
import type { BookEntry, BookkeepingDouble, JsonObject, Override } from "./vendor-checks.ts";

export interface ExaBilled {
  readonly type: string;
  /** Dollars in decimal, honestly counted. */
  readonly usd: string;
}

export interface ExaOptions {
  readonly key: string;
  /** Replaces `costDollars`. */
  readonly cost?: Override<JsonObject>;
}

export async function openExaDouble({ key, cost }: ExaOptions): Promise<BookkeepingDouble<ExaBilled>> {
  const book: BookEntry<ExaBilled>[] = [];
  const nextId = createIds("exa-");

  const search: Handler = (request) => {
    const requestId = nextId();
    const refused = (status: number, error: string): Answer => refuse(status, { requestId, error });
    if (!hasHeader(request, { name: "x-api-key", value: key })) return refused(401, "Invalid API key");
    const body = readJsonObject(request);
    if (typeof body === "string") return refused(400, body);
    const problem = checkSearch(body);
    if (problem !== undefined) return refused(400, problem);

    const type = stringOf(body["type"] ?? "auto");
    const results = knownResults.slice(0, Number(body["numResults"] ?? 10));
    const contents = isObject(body["contents"]);
    const searchMicros = type.startsWith("deep") ? 15_000 : 5_000;
    const micros = searchMicros + (contents ? results.length * 1_000 : 0);
    book.push({ requestId, billed: { type, usd: (micros / 1e6).toFixed(6) }, request });
    const honest = { total: micros / 1e6, search: { [type]: searchMicros / 1e6 } };
    return jsonAnswer(200, {
      requestId,
      resolvedSearchType: type === "auto" ? "neural" : type,
      results: results.map(({ text, ...result }) => (contents ? { ...result, text } : result)),
      ...(isObject(body["outputSchema"]) && { output: { content: "Foxes are quick.", grounding: [] } }),
      costDollars: resolveOverride({ override: cost, input: body, honest }),
    });
  };

  const double = await openVendorDouble({
    handlers: {
      "POST /search": search,
      // Its research API ended on 2026-05-01; `type: "deep-reasoning"` is what is left of it.
      "*": () => refuse(404, { requestId: nextId(), error: "Not found" }),
    },
  });
  return { ...double, book };
}

const knownResults = [
  {
    id: "https://example.com/quick",
    url: "https://example.com/quick",
    title: "Quick",
    publishedDate: "2026-01-02",
    author: null,
    score: 0.41,
    text: "Foxes run.",
  },
  {
    id: "https://example.org/brown",
    url: "https://example.org/brown",
    title: "Brown",
    publishedDate: null,
    author: "F. Ox",
    score: 0.37,
    text: "Foxes are brown.",
  },
] as const;

const searchTypes = ["auto", "neural", "keyword", "fast", "instant", "deep", "deep-lite", "deep-reasoning"];
const knownFields = [
  "additionalQueries",
  "category",
  "contents",
  "endPublishedDate",
  "excludeDomains",
  "includeDomains",
  "moderation",
  "numResults",
  "outputSchema",
  "query",
  "startPublishedDate",
  "stream",
  "systemPrompt",
  "type",
  "userLocation",
];
const resultsMax = 100;

const refuse = (status: number, body: { readonly requestId: string; readonly error: string }): Answer =>
  jsonAnswer(status, { ...body });

function checkSearch(body: JsonObject): string | undefined {
  const stranger = unknownField(body, knownFields);
  if (stranger !== undefined) return `Unrecognized key: "${stranger}"`;
  if (typeof body["query"] !== "string" || body["query"] === "") return "query is required";
  if (!searchTypes.includes(stringOf(body["type"] ?? "auto")))
    return `type must be one of ${searchTypes.join(", ")}`;
  const count = body["numResults"] ?? 10;
  return isPositiveInteger(count) && count <= resultsMax
    ? undefined
    : `numResults must be from 1 to ${resultsMax}`;
}
