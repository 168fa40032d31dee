// Perplexity: the Agent API, plain, streamed and in the background; Sonar only for those who ask.

import { listOf, objectOf, objectsOf, stringOf } from "./json-read.ts";
import { countTokens } from "./ranking.ts";
import type { Answer } from "./scripted-answer.ts";
import { dataEvent, heartbeat, sseHeaders, withShares } from "./sse.ts";
import { openVendorDouble } from "./vendor-double.ts";
import type { Handler, RecordedRequest } from "./vendor-double.ts";
import {
  createIds,
  hasBearer,
  isPositiveInteger,
  jsonAnswer,
  readJsonObject,
  resolveOverride,
  unknownField,
} from "./vendor-checks.ts";
import type { BookEntry, BookkeepingDouble, JsonObject, JsonValue, Override } from "./vendor-checks.ts";

export interface PerplexityBilled {
  readonly model: string;
  /** Dollars in decimal, honestly counted. */
  readonly usd: string;
  /** The usage as the answer states it, lies included; the honest one where it states none. */
  readonly usage: JsonValue;
}

export interface PerplexityOptions {
  readonly key: string;
  readonly models?: readonly string[];
  /** The report. */
  readonly reply?: string;
  /** Failures arrive as HTTP 200 and cost nothing. */
  readonly status?: "completed" | "failed" | "incomplete";
  /** Replaces `usage`, cost included. */
  readonly usage?: Override<JsonObject>;
  /** How often a background task is still running when it is asked after; default once. */
  readonly runningPolls?: number;
  /** Also serve the old `/chat/completions`, whose support has ended. */
  readonly sonar?: boolean;
}

export const openPerplexityDouble = async ({
  key,
  models = ["perplexity/sonar"],
  reply = "Foxes are quick [1] and brown [2].",
  status = "completed",
  usage,
  runningPolls = 1,
  sonar = false,
}: PerplexityOptions): Promise<BookkeepingDouble<PerplexityBilled>> => {
  const book: BookEntry<PerplexityBilled>[] = [];
  const tasks = new Map<string, { readonly response: JsonObject; pollsLeft: number }>();
  const nextId = createIds("resp_");
  const nextCompletionId = createIds("sonar-");

  const guarded =
    (handler: Handler): Handler =>
    (request) =>
      hasBearer(request, key)
        ? handler(request)
        : refuse(401, { message: "Invalid API key", type: "forbidden" });

  const agent = guarded((request) => {
    const body = readJsonObject(request);
    if (typeof body === "string")
      return refuse(400, { message: `invalid request body: ${body}`, type: "invalid_request" });
    const problem = checkAgent(body, models);
    if (problem) return refuse(400, { type: "invalid_request", ...problem });

    const id = nextId();
    const model = stringOf(body["model"]) || (models[0] ?? "");
    const spent = spend({ prompt: JSON.stringify([body["instructions"], body["input"]]), reply });
    const honest = agentUsage(spent);
    const stated = resolveOverride({ override: usage, input: body, honest });
    const shell = {
      id,
      object: "response",
      created_at: createdSeconds,
      model,
      background: body["background"] === true,
    };
    const done =
      status === "failed" ? { output: [], error: failure } : { output: outputOf(reply, id), usage: stated };
    const response = { ...shell, status, ...done };
    if (status !== "failed") {
      book.push({ requestId: id, billed: { model, usd: spent.usd, usage: stated ?? honest }, request });
    }
    if (body["background"] === true) {
      tasks.set(id, { response, pollsLeft: runningPolls });
      return jsonAnswer(200, { ...shell, status: "queued", output: [] });
    }
    return body["stream"] === true ? streamed({ shell, response, reply, body }) : jsonAnswer(200, response);
  });

  const poll = guarded(({ target }) => {
    const task = tasks.get(target.slice(pollPath.length));
    if (!task) return refuse(404, { message: "response not found", type: "not_found" });
    if (task.pollsLeft <= 0) return jsonAnswer(200, task.response);
    task.pollsLeft -= 1;
    const { id, object, created_at, model, background } = task.response;
    return jsonAnswer(200, { id, object, created_at, model, background, status: "in_progress", output: [] });
  });

  const completions = guarded((request) => {
    const body = readJsonObject(request);
    if (typeof body === "string") return refuse(400, { message: body, type: "invalid_request" });
    if (objectsOf(body["messages"]).length === 0) {
      return refuse(400, { message: "messages: at least one is required", type: "invalid_request" });
    }
    const id = nextCompletionId();
    const model = stringOf(body["model"]);
    const spent = spend({ prompt: JSON.stringify(body["messages"]), reply });
    const honest = sonarUsage(spent);
    const stated = resolveOverride({ override: usage, input: body, honest });
    book.push({ requestId: id, billed: { model, usd: spent.usd, usage: stated ?? honest }, request });
    return jsonAnswer(200, {
      id,
      object: "chat.completion",
      created: createdSeconds,
      model,
      choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: reply } }],
      citations: knownResults.map(({ url }) => url),
      search_results: knownResults,
      usage: stated,
    });
  });

  const missing: Handler = () => refuse(404, { message: "not found", type: "not_found" });
  const double = await openVendorDouble({
    handlers: {
      "POST /v1/agent": agent,
      "POST /v1/responses": agent,
      "POST /chat/completions": sonar ? completions : missing,
      "*": (request: RecordedRequest) => (isPoll(request) ? poll(request) : missing(request)),
    },
  });
  return { ...double, book };
};

const createdSeconds = 1_755_734_400;
const pollPath = "/v1/responses/";
const searchCount = 2;
const failure = { message: "the model failed", type: "server_error", code: "server_error" };

const knownResults = [
  {
    id: 1,
    url: "https://example.com/quick",
    title: "Quick",
    snippet: "Foxes run.",
    date: "2026-01-02",
    last_updated: "2026-01-03",
    source: "web",
  },
  {
    id: 2,
    url: "https://example.org/brown",
    title: "Brown",
    snippet: "Foxes are brown.",
    date: null,
    last_updated: null,
    source: "web",
  },
] as const;

// The wire format is strict; of the members only these are known, not all of them from the vendor's own words.
const knownFields = [
  "background",
  "include_usage",
  "input",
  "instructions",
  "language_preference",
  "max_output_tokens",
  "max_steps",
  "model",
  "models",
  "preset",
  "reasoning",
  "response_format",
  "stream",
  "tools",
];

const isPoll = ({ method, target }: RecordedRequest): boolean =>
  method === "GET" && target.startsWith(pollPath);

interface Problem {
  readonly message: string;
  readonly type: string;
  readonly param?: string;
}

const refuse = (code: number, { message, type, param }: Problem): Answer =>
  jsonAnswer(code, { error: { message, type, code, param } });

function checkAgent(
  body: JsonObject,
  models: readonly string[],
): { readonly message: string; readonly param: string } | undefined {
  const stranger = unknownField(body, knownFields);
  if (stranger !== undefined) {
    return { message: `invalid request body: json: unknown field "${stranger}"`, param: stranger };
  }
  const { input, model, preset, background = false, stream = false, max_output_tokens: most = 1 } = body;
  const isInput = typeof input === "string" ? input !== "" : listOf(input).length > 0;
  if (!isInput) return { message: "input is required", param: "input" };
  if (model === undefined && preset === undefined)
    return { message: "model or preset is required", param: "model" };
  if (model !== undefined && !models.includes(stringOf(model))) {
    return { message: `model "${stringOf(model)}" is not supported`, param: "model" };
  }
  if (preset !== undefined && !["fast", "low", "medium", "high"].includes(stringOf(preset))) {
    return { message: `preset "${stringOf(preset)}" is not supported`, param: "preset" };
  }
  if (typeof background !== "boolean")
    return { message: "background must be a boolean", param: "background" };
  if (typeof stream !== "boolean") return { message: "stream must be a boolean", param: "stream" };
  return isPositiveInteger(most)
    ? undefined
    : { message: "max_output_tokens must be positive", param: "max_output_tokens" };
}

interface Spent {
  readonly input: number;
  readonly output: number;
  readonly micros: {
    readonly input: number;
    readonly output: number;
    readonly searches: number;
    readonly total: number;
  };
  readonly usd: string;
}

/** By the old list: 2 and 8 dollars for a million tokens in and out, 5 for a thousand searches. */
function spend({ prompt, reply }: { readonly prompt: string; readonly reply: string }): Spent {
  const [input, output] = [countTokens(prompt), countTokens(reply)];
  const micros = { input: input * 2, output: output * 8, searches: searchCount * 5000 };
  const total = micros.input + micros.output + micros.searches;
  return { input, output, micros: { ...micros, total }, usd: (total / 1e6).toFixed(6) };
}

const agentUsage = ({ input, output, micros }: Spent): JsonValue => ({
  input_tokens: input,
  output_tokens: output,
  total_tokens: input + output,
  tool_calls_details: { web_search: { invocation: searchCount } },
  cost: {
    input_cost: micros.input / 1e6,
    output_cost: micros.output / 1e6,
    tool_calls_cost: micros.searches / 1e6,
    total_cost: micros.total / 1e6,
    currency: "USD",
  },
});

const sonarUsage = ({ input, output, micros }: Spent): JsonValue => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  citation_tokens: 0,
  num_search_queries: searchCount,
  reasoning_tokens: 0,
  cost: {
    input_tokens_cost: micros.input / 1e6,
    output_tokens_cost: micros.output / 1e6,
    request_cost: micros.searches / 1e6,
    total_cost: micros.total / 1e6,
  },
});

const outputOf = (reply: string, id: string): readonly JsonObject[] => [
  { type: "search_results", queries: ["quick foxes", "brown foxes"], results: knownResults },
  {
    type: "message",
    id: id.replace("resp_", "msg_"),
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text: reply, annotations: [] }],
  },
];

/** No event names and no end marker; only the last event has usage. */
const streamed = ({
  shell,
  response,
  reply,
  body,
}: {
  readonly shell: JsonObject;
  readonly response: JsonObject;
  readonly reply: string;
  readonly body: JsonObject;
}): Answer => {
  let sequence = 0;
  const event = (data: JsonObject): string => dataEvent({ ...data, sequence_number: sequence++ });
  const [searched] = listOf(response["output"]);
  const created = event({
    type: "response.created",
    response: { ...shell, status: "in_progress", output: [] },
  });
  const found =
    searched === undefined
      ? []
      : [event({ type: "response.output_item.done", output_index: 0, item: objectOf(searched) })];
  const words = searched === undefined ? [] : (reply.match(/\s*\S+/g) ?? []);
  const deltas = words.map((delta) =>
    event({ type: "response.output_text.delta", output_index: 1, content_index: 0, delta }),
  );
  const { usage, ...bare } = response;
  const last = { type: `response.${stringOf(response["status"])}`, sequence_number: sequence };
  const metered = dataEvent({
    ...last,
    response: body["include_usage"] === false ? bare : { ...bare, usage },
  });
  return {
    status: 200,
    headers: sseHeaders,
    stream: {
      events: withShares([
        ...[created, ...found, ...deltas].map((wire) => ({ wire, tokens: 1 })),
        { wire: metered, unmetered: dataEvent({ ...last, response: bare }) },
      ]),
      error: dataEvent({ type: "error", error: failure }),
      say: (delta) => event({ type: "response.output_text.delta", output_index: 1, content_index: 0, delta }),
      heartbeat: heartbeat,
      // It searched and thought before it spoke: who leaves early pays for all of it.
      report: () => undefined,
    },
  };
};
