// Exa search: every answer says what it cost, and carries an answer of its own where its shape was asked for.

import { fingerprint } from "../../seeded.ts";
import {
  bearerOf,
  isObject,
  parseObject,
  type JsonObject,
  type Vendor,
  type VendorAnswer,
  type VendorCall,
} from "../../vendor.ts";
import { isInteger, isText } from "../checks.ts";
import { answerFrom, findSources, type Source } from "./sources.ts";

export function createExa({ key }: { key: string }): Vendor {
  const answer: Vendor["answer"] = (call) => {
    const given = call.headers.get("x-api-key") ?? bearerOf(call.headers);
    if (given !== key) return refuse(401, "Invalid API key");
    if (call.path !== "/search") return refuse(404, `Cannot ${call.method} ${call.path}`);
    return call.method === "POST" ? search(call) : refuse(405, "Method Not Allowed");
  };
  return { answer, refuse };
}

// Millionths of a USD per search, ten results included.
const microsByType: Readonly<Record<string, number>> = {
  auto: 7000,
  neural: 7000,
  keyword: 7000,
  fast: 7000,
  instant: 7000,
  "deep-lite": 12_000,
  deep: 12_000,
  "deep-reasoning": 15_000,
};
const resultsIncluded = 10;
const microsPerResult = 1000;
const microsPerSummary = 1000;

function search({ body, nowMs }: VendorCall): VendorAnswer {
  const request = parseObject(body);
  if (request === undefined) return refuse(400, "Invalid JSON");
  const { query, type = "auto", numResults: count = 10, contents, outputSchema } = request;
  if (!isText(query)) return refuse(400, "query: a text is required");
  const searchMicros = microsByType[String(type)];
  if (searchMicros === undefined) return refuse(400, "type: unknown search type");
  if (!isInteger(count, 1, 100)) return refuse(400, "numResults: must be from 1 to 100");

  const wanted = isObject(contents) ? contents : request;
  const sources = findSources(query, count);
  const extraMicros = Math.max(0, count - resultsIncluded) * microsPerResult;
  const summaryMicros = wanted["summary"] ? count * microsPerSummary : 0;
  const costMicros = searchMicros + extraMicros + summaryMicros;
  return {
    status: 200,
    body: {
      requestId: fingerprint(`${nowMs} ${body}`),
      resolvedSearchType: type === "auto" ? "neural" : type,
      searchType: type,
      results: sources.map((source) => resultOf(source, wanted)),
      ...(isObject(outputSchema) ? { output: outputOf(query, sources) } : {}),
      costDollars: { total: costMicros / 1e6 },
    },
    billed: { searches: 1, cost_micros_usd: costMicros },
  };
}

const resultOf = ({ title, url, date, author, text, snippet }: Source, wanted: JsonObject): JsonObject => ({
  id: url,
  title,
  url,
  publishedDate: `${date}T00:00:00.000Z`,
  author,
  ...(wanted["text"] ? { text } : {}),
  ...(wanted["highlights"] ? { highlights: [snippet], highlightScores: [0.5] } : {}),
  ...(wanted["summary"] ? { summary: snippet } : {}),
});

const outputOf = (query: string, sources: readonly Source[]): JsonObject => ({
  content: answerFrom(query, sources),
  grounding: [
    {
      field: "content",
      citations: sources.map(({ url, title }) => ({ url, title })),
      confidence: "high",
    },
  ],
});

const refuse = (status: number, message: string): VendorAnswer => ({
  status,
  body: { requestId: fingerprint(message), error: message, tag: tags[status] ?? "DEFAULT_ERROR" },
  billed: null,
});

const tags: Readonly<Record<number, string>> = {
  400: "INVALID_REQUEST_BODY",
  401: "INVALID_API_KEY",
  402: "NO_MORE_CREDITS",
  429: "RATE_LIMIT_EXCEEDED",
};
