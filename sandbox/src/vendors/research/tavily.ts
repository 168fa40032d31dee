// Tavily search: credits are billed always and told only to those who ask.

import { fingerprint } from "../../seeded.ts";
import {
  bearerOf,
  parseObject,
  type JsonObject,
  type Vendor,
  type VendorAnswer,
  type VendorCall,
} from "../../vendor.ts";
import { isInteger, isText } from "../checks.ts";
import { answerFrom, findSources } from "./sources.ts";

export function createTavily({ key }: { key: string }): Vendor {
  const answer: Vendor["answer"] = (call) => {
    if (bearerOf(call.headers) !== key) return refuse(401, "Unauthorized: missing or invalid API key.");
    if (call.path !== "/search") return refuse(404, "Not Found");
    return call.method === "POST" ? search(call) : refuse(405, "Method Not Allowed");
  };
  return { answer, refuse };
}

const creditsByDepth: Readonly<Record<string, number>> = { basic: 1, fast: 1, "ultra-fast": 1, advanced: 2 };

function search({ body, nowMs }: VendorCall): VendorAnswer {
  const request = parseObject(body);
  if (request === undefined) return refuse(400, "Invalid JSON.");
  const { query, search_depth: depth = "basic", max_results: count = 5 } = request;
  if (!isText(query)) return refuse(400, "Query is missing.");
  const credits = creditsByDepth[String(depth)];
  if (credits === undefined) return refuse(400, "Invalid search depth. Must be 'basic' or 'advanced'.");
  if (!isInteger(count, 0, 20)) return refuse(400, "Max results must be between 0 and 20.");

  const sources = findSources(query, count);
  const wanted = (member: string): boolean => Boolean(request[member]);
  const answered: JsonObject = {
    query,
    answer: wanted("include_answer") ? answerFrom(query, sources) : null,
    images: [],
    follow_up_questions: null,
    results: sources.map(({ title, url, snippet, text, score }) => ({
      title,
      url,
      content: snippet,
      score,
      raw_content: wanted("include_raw_content") ? text : null,
    })),
    response_time: 0.42,
    request_id: fingerprint(`${nowMs} ${body}`),
  };
  const usage = request["include_usage"] === true ? { usage: { credits } } : {};
  return { status: 200, body: { ...answered, ...usage }, billed: { credits } };
}

const refuse = (status: number, message: string): VendorAnswer => ({
  status,
  body: { detail: { error: message } },
  billed: null,
});
