// OpenAI: chat completions, plain and streamed, and the model list (vendors.md §9).

import { countTokens } from "./ranking.ts";
import type { Answer } from "./scripted-answer.ts";
import { openVendorDouble } from "./vendor-double.ts";
import type { Handler } from "./vendor-double.ts";
import {
  createIds,
  hasBearer,
  isObject,
  isPositiveInteger,
  jsonAnswer,
  readJsonObject,
  resolveOverride,
  unknownField,
} from "./vendor-checks.ts";
import type { BookEntry, BookkeepingDouble, JsonObject, JsonValue, Override } from "./vendor-checks.ts";

export interface OpenAiBilled {
  readonly model: string;
  /** The usage as the answer states it, lies included; the honest figures where it states none. */
  readonly usage: JsonValue;
}

export interface OpenAiOptions {
  readonly key: string;
  readonly models?: readonly string[];
  /** Replaces `usage`; `omitted` leaves it out, and in a stream leaves out its extra chunk. */
  readonly usage?: Override<JsonObject>;
  /** The assistant's text. */
  readonly reply?: string | ((body: JsonObject) => string);
}

export const openOpenAiDouble = async ({
  key,
  models = ["gpt-x"],
  usage,
  reply = "The quick brown fox jumps over the lazy dog.",
}: OpenAiOptions): Promise<BookkeepingDouble<OpenAiBilled>> => {
  const book: BookEntry<OpenAiBilled>[] = [];
  const nextRequestId = createIds("req_");
  const nextCompletionId = createIds("chatcmpl-");

  const identified =
    (handler: (...args: [...Parameters<Handler>, string]) => Answer): Handler =>
    (request) => {
      const requestId = nextRequestId();
      const answer = hasBearer(request, key)
        ? handler(request, requestId)
        : refuse(401, keyRefusal(request.headers.map(([name]) => name)));
      return { ...answer, headers: { ...headersOf(answer), "x-request-id": requestId } };
    };

  const completions = identified((request, requestId) => {
    const body = readJsonObject(request);
    if (typeof body === "string") {
      return refuse(400, {
        message: `We could not parse the JSON body of your request. (${body})`,
      });
    }
    const problem = checkBody(body);
    if (problem) return refuse(400, problem);
    const model = String(body["model"]);
    if (!models.includes(model)) {
      const message = `The model \`${model}\` does not exist or you do not have access to it.`;
      return refuse(404, { message, code: "model_not_found" });
    }

    const text = cutToLimit(typeof reply === "function" ? reply(body) : reply, body);
    const honest = honestUsage(body, text.words);
    const stated = resolveOverride({ override: usage, input: body, honest });
    book.push({ requestId, billed: { model, usage: stated ?? honest }, request });
    const completion = { id: nextCompletionId(), created: CREATED, model };
    return body["stream"] === true
      ? streamed({ completion, text, usage: stated, body })
      : whole({ completion, text, usage: stated, body });
  });

  const double = await openVendorDouble({
    basePath: "/v1",
    handlers: {
      "POST /v1/chat/completions": completions,
      "GET /v1/models": identified(() => jsonAnswer(200, modelList(models))),
      "*": ({ method, target }) =>
        refuse(404, {
          message: `Unknown request URL: ${method} ${target}.`,
          code: "unknown_url",
        }),
    },
  });
  return { ...double, book };
};

const CREATED = 1_755_734_400;

const FIELDS = [
  "audio",
  "frequency_penalty",
  "function_call",
  "functions",
  "logit_bias",
  "logprobs",
  "max_completion_tokens",
  "max_tokens",
  "messages",
  "metadata",
  "modalities",
  "model",
  "n",
  "parallel_tool_calls",
  "prediction",
  "presence_penalty",
  "prompt_cache_key",
  "prompt_cache_retention",
  "reasoning_effort",
  "response_format",
  "safety_identifier",
  "seed",
  "service_tier",
  "stop",
  "store",
  "stream",
  "stream_options",
  "temperature",
  "tool_choice",
  "tools",
  "top_logprobs",
  "top_p",
  "user",
  "verbosity",
  "web_search_options",
];

const ROLES = ["developer", "system", "user", "assistant", "tool", "function"];

interface Problem {
  readonly message: string;
  readonly param?: string;
  readonly code?: string;
}

const refuse = (status: number, { message, param, code }: Problem): Answer =>
  jsonAnswer(status, {
    error: { message, type: "invalid_request_error", param: param ?? null, code: code ?? null },
  });

const keyRefusal = (headerNames: readonly string[]): Problem =>
  headerNames.some((name) => name.toLowerCase() === "authorization")
    ? {
        // The real one echoes a masked key too: a gateway that passed it on would show the operator's.
        message: "Incorrect API key provided: sk-****************abcd.",
        code: "invalid_api_key",
      }
    : { message: "You didn't provide an API key." };

const headersOf = ({ headers }: Answer): Record<string, string> =>
  Object.fromEntries(Array.isArray(headers) ? headers : Object.entries(headers ?? {}));

const checkBody = (body: JsonObject): Problem | undefined => {
  const stranger = unknownField(body, FIELDS);
  if (stranger !== undefined) {
    return {
      message: `Unknown parameter: '${stranger}'.`,
      param: stranger,
      code: "unknown_parameter",
    };
  }
  if (typeof body["model"] !== "string" || body["model"] === "") {
    return { message: "you must provide a model parameter" };
  }
  const { messages } = body;
  if (!Array.isArray(messages)) {
    return {
      message: "Missing required parameter: 'messages'.",
      param: "messages",
      code: "missing_required_parameter",
    };
  }
  if (messages.length === 0) {
    return {
      message: "Invalid 'messages': empty array. Expected an array with minimum length 1.",
      param: "messages",
      code: "empty_array",
    };
  }
  const strange = messages.findIndex(
    (message: unknown) => !isObject(message) || !ROLES.includes(String(message["role"])),
  );
  if (strange >= 0) return invalid(`messages[${strange}]`, "a message with a known role");

  for (const name of ["max_tokens", "max_completion_tokens", "n"]) {
    const value = body[name] ?? 1;
    if (!isPositiveInteger(value)) return invalid(name, "an integer of at least 1");
  }
  const stream = body["stream"] ?? false;
  if (typeof stream !== "boolean") return invalid("stream", "a boolean");
  if ((body["stream_options"] ?? null) !== null && !stream) {
    return {
      message: "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
      param: "stream_options",
    };
  }
  return undefined;
};

const invalid = (param: string, expected: string): Problem => ({
  message: `Invalid value for '${param}': expected ${expected}.`,
  param,
  code: "invalid_value",
});

interface Reply {
  readonly words: readonly string[];
  readonly finishReason: "stop" | "length";
}

/** One word is one token here, so that a limit cuts where a reader expects it. */
const cutToLimit = (reply: string, body: JsonObject): Reply => {
  const words = reply.match(/\s*\S+/g) ?? [];
  const limit = Number(body["max_completion_tokens"] ?? body["max_tokens"] ?? words.length);
  return { words: words.slice(0, limit), finishReason: limit < words.length ? "length" : "stop" };
};

const choiceCount = (body: JsonObject): number => Number(body["n"] ?? 1);

const honestUsage = (body: JsonObject, words: readonly string[]): JsonValue => {
  const prompt = countTokens(JSON.stringify(body["messages"]));
  const completion = words.length * choiceCount(body);
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: 0,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
};

interface Completion {
  readonly completion: { readonly id: string; readonly created: number; readonly model: string };
  readonly text: Reply;
  readonly usage: JsonValue | undefined;
  readonly body: JsonObject;
}

const whole = ({ completion, text, usage, body }: Completion): Answer =>
  jsonAnswer(200, {
    ...completion,
    object: "chat.completion",
    choices: Array.from({ length: choiceCount(body) }, (_, index) => ({
      index,
      message: { role: "assistant", content: text.words.join(""), refusal: null },
      logprobs: null,
      finish_reason: text.finishReason,
    })),
    usage,
    service_tier: "default",
  });

const streamed = ({ completion, text, usage, body }: Completion): Answer => {
  const options = body["stream_options"];
  const includeUsage = isObject(options) && options["include_usage"] === true;
  const base = { ...completion, object: "chat.completion.chunk", service_tier: "default" };
  // `usage: undefined` is dropped by JSON: only callers who asked see `usage: null`.
  const quiet = includeUsage ? null : undefined;
  const event = (data: JsonObject): string => `data: ${JSON.stringify(data)}\n\n`;
  const delta = (index: number, change: JsonObject, finishReason: string | null): string =>
    event({
      ...base,
      choices: [{ index, delta: change, logprobs: null, finish_reason: finishReason }],
      usage: quiet,
    });

  const events = Array.from({ length: choiceCount(body) }, (_, index) => [
    delta(index, { role: "assistant", content: "" }, null),
    ...text.words.map((content) => delta(index, { content }, null)),
    delta(index, {}, text.finishReason),
  ]).flat();
  if (includeUsage && usage !== undefined) events.push(event({ ...base, choices: [], usage }));
  events.push("data: [DONE]\n\n");
  return { status: 200, headers: { "Content-Type": "text/event-stream" }, chunks: events };
};

const modelList = (models: readonly string[]): JsonObject => ({
  object: "list",
  data: models.map((id) => ({ id, object: "model", created: CREATED, owned_by: "openai" })),
});
