// Tavily: search, billed in credits that are told only on request; research, which is polled.

import { stringOf } from "./json-read.ts";
import type { Answer } from "./scripted-answer.ts";
import { openVendorDouble } from "./vendor-double.ts";
import type { Handler, RecordedRequest } from "./vendor-double.ts";
import {
  createIds,
  hasBearer,
  jsonAnswer,
  readJsonObject,
  resolveOverride,
  unknownField,
} from "./vendor-checks.ts";
import type { BookEntry, BookkeepingDouble, JsonObject, Override } from "./vendor-checks.ts";

export interface TavilyBilled {
  readonly endpoint: "search" | "research";
  readonly credits: number;
}

export interface TavilyOptions {
  readonly key: string;
  /** Replaces `usage`, which stands in an answer only if it was asked for. */
  readonly usage?: Override<JsonObject>;
  /** How research ends. */
  readonly status?: "completed" | "failed";
  /** How often research is still running when it is asked after; default once. */
  readonly runningPolls?: number;
  /** What a research costs; no price is published with it, and its answer names none. */
  readonly researchCredits?: number;
}

export const openTavilyDouble = async ({
  key,
  usage,
  status = "completed",
  runningPolls = 1,
  researchCredits = 20,
}: TavilyOptions): Promise<BookkeepingDouble<TavilyBilled>> => {
  const book: BookEntry<TavilyBilled>[] = [];
  const tasks = new Map<string, { readonly input: string; pollsLeft: number }>();
  const nextId = createIds("tavily-");

  const guarded =
    (handler: Handler): Handler =>
    (request) =>
      hasBearer(request, key) ? handler(request) : refuse(401, "Unauthorized: missing or invalid API key.");

  const search = guarded((request) => {
    const body = readJsonObject(request);
    const problem = typeof body === "string" ? body : checkSearch(body);
    if (typeof body === "string" || problem !== undefined) return refuse(400, problem ?? "");

    const requestId = nextId();
    const credits = body["search_depth"] === "advanced" ? 2 : 1;
    book.push({ requestId, billed: { endpoint: "search", credits }, request });
    const stated = resolveOverride({ override: usage, input: body, honest: { credits } });
    return jsonAnswer(200, {
      query: body["query"],
      answer: (body["include_answer"] ?? false) === false ? null : "Foxes are quick.",
      images: [],
      results: knownResults.slice(0, Number(body["max_results"] ?? 5)),
      response_time: 0.42,
      request_id: requestId,
      usage: body["include_usage"] === true ? stated : undefined,
    });
  });

  const research = guarded((request) => {
    const body = readJsonObject(request);
    if (typeof body === "string") return refuse(400, body);
    const { input, model = "auto" } = body;
    if (typeof input !== "string" || input === "") return refuse(400, "input is required");
    if (!["mini", "pro", "auto"].includes(stringOf(model)))
      return refuse(400, "model must be mini, pro or auto");
    const stranger = unknownField(body, researchFields);
    if (stranger !== undefined) return refuse(400, `${stranger}: extra inputs are not permitted`);

    const requestId = nextId();
    tasks.set(requestId, { input, pollsLeft: runningPolls });
    if (status === "completed") {
      book.push({ requestId, billed: { endpoint: "research", credits: researchCredits }, request });
    }
    return jsonAnswer(201, { request_id: requestId, created_at: createdAt, status: "pending", input, model });
  });

  const poll = guarded(({ target }) => {
    const requestId = target.slice(pollPath.length);
    const task = tasks.get(requestId);
    if (!task) return refuse(404, "Research task not found");
    const shell = { request_id: requestId, created_at: createdAt };
    if (task.pollsLeft > 0) {
      task.pollsLeft -= 1;
      return jsonAnswer(202, { ...shell, status: "in_progress" });
    }
    if (status === "failed") return jsonAnswer(200, { ...shell, status });
    return jsonAnswer(200, {
      ...shell,
      status,
      content: `# ${task.input}\n\nFoxes are quick [1].`,
      sources: knownResults.map(({ title, url }) => ({ title, url })),
    });
  });

  const double = await openVendorDouble({
    handlers: {
      "POST /search": search,
      "POST /research": research,
      "*": (request: RecordedRequest) =>
        request.method === "GET" && request.target.startsWith(pollPath)
          ? poll(request)
          : refuse(404, "Not Found"),
    },
  });
  return { ...double, book };
};

const createdAt = "2026-01-02T03:04:05Z";
const pollPath = "/research/";

const knownResults = [
  { title: "Quick", url: "https://example.com/quick", content: "Foxes run.", score: 0.98, raw_content: null },
  {
    title: "Brown",
    url: "https://example.org/brown",
    content: "Foxes are brown.",
    score: 0.87,
    raw_content: null,
  },
] as const;

const searchFields = [
  "auto_parameters",
  "chunks_per_source",
  "country",
  "days",
  "end_date",
  "exclude_domains",
  "include_answer",
  "include_domains",
  "include_favicon",
  "include_image_descriptions",
  "include_images",
  "include_raw_content",
  "include_usage",
  "max_results",
  "query",
  "search_depth",
  "start_date",
  "time_range",
  "topic",
];
const researchFields = ["citation_format", "input", "model", "output_schema", "stream"];
const resultsMax = 20;
const queryCharactersMax = 400;

const refuse = (status: number, error: string): Answer => jsonAnswer(status, { detail: { error } });

function checkSearch(body: JsonObject): string | undefined {
  const stranger = unknownField(body, searchFields);
  if (stranger !== undefined) return `${stranger}: extra inputs are not permitted`;
  const query = stringOf(body["query"]);
  if (query === "") return "query is required";
  if (query.length > queryCharactersMax)
    return `Query is too long. Max query length is ${queryCharactersMax} characters.`;
  if (!["basic", "advanced"].includes(stringOf(body["search_depth"] ?? "basic"))) {
    return "search_depth must be basic or advanced";
  }
  const count = body["max_results"] ?? 5;
  if (!Number.isSafeInteger(count) || Number(count) < 0 || Number(count) > resultsMax) {
    return `max_results must be between 0 and ${resultsMax}`;
  }
  if (typeof (body["include_usage"] ?? false) !== "boolean") {
    return "include_usage must be a boolean";
  }
  return ["general", "news", "finance"].includes(stringOf(body["topic"] ?? "general"))
    ? undefined
    : "topic must be general, news or finance";
}
