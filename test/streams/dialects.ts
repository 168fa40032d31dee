// The dialects as their callers speak them, written for tests and owing nothing to the gateway's own
// translation: a conversation in plain words is said in a dialect, and an answer is read back into plain words.

import { listOf, numberOrNull, objectOf, objectsOf, parsedOr, stringOf } from "../doubles/json-read.ts";
import type { JsonObject } from "../doubles/vendor-checks.ts";

export const dialectNames = ["openai", "anthropic", "gemini"] as const;
export type DialectName = (typeof dialectNames)[number];

/** OpenAI's newer one is a dialect of callers. */
export const spokenNames = [...dialectNames, "responses"] as const;
export type SpokenName = (typeof spokenNames)[number];

export interface Talk {
  readonly system?: string;
  readonly turns: readonly TalkTurn[];
  /** Tools of one text argument each, by name. */
  readonly tools?: readonly string[];
  readonly toolChoice?: "auto" | "none" | "required" | { readonly name: string };
  readonly maxTokens?: number;
  readonly temperature?: number;
  readonly stop?: readonly string[];
  readonly schema?: JsonObject;
  /** An effort to OpenAI, a budget of 2,048 tokens to the others. */
  readonly thinks?: boolean;
}

type TalkTurn =
  | { readonly user: string; readonly image?: string }
  | { readonly calls: readonly TalkCall[] }
  | { readonly results: readonly (TalkCall & { readonly result: string })[] };

interface TalkCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonObject;
}

/** What a caller gets out of an answer. Usage is disjoint: what was cached is not input. */
export interface Heard {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly { readonly name: string; readonly arguments: unknown }[];
  readonly stop: string | null;
  readonly usage: { readonly input: number; readonly output: number; readonly cacheRead: number } | undefined;
  readonly error: string | undefined;
}

interface Dialect {
  readonly path: (model: string, stream: boolean) => string;
  readonly body: (talk: Talk, model: string, stream: boolean) => JsonObject;
  readonly hear: (json: JsonObject) => Heard;
  /** `frames` are events as text. */
  readonly hearStream: (frames: readonly string[]) => Heard;
}

export const budgetTokens = 2048;
const toolSchema = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
} as const;

const described = (name: string): string => `Looks up ${name}.`;

const nothing: Heard = { text: "", reasoning: "", calls: [], stop: null, usage: undefined, error: undefined };

/** The JSON of every event, and what stands in a `data:` line without being JSON. */
export const dataOf = (frames: readonly string[]): readonly string[] =>
  frames.flatMap((frame) =>
    frame
      .split(/\r\n|\n|\r/)
      .filter((line) => line.startsWith("data:"))
      .map((line) => line.slice("data:".length).trim()),
  );

const eventsOf = (frames: readonly string[]): readonly JsonObject[] =>
  dataOf(frames)
    .filter((data) => data !== "[DONE]")
    .map((data) => objectOf(JSON.parse(data)));

const given = (members: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));

// --- OpenAI

const openaiMessages = (turn: TalkTurn): readonly JsonObject[] => {
  if ("calls" in turn) {
    const tool_calls = turn.calls.map(({ id, name, arguments: args }) => ({
      id,
      type: "function",
      function: { name, arguments: JSON.stringify(args) },
    }));
    return [{ role: "assistant", content: null, tool_calls }];
  }
  if ("results" in turn) {
    return turn.results.map(({ id, result }) => ({ role: "tool", tool_call_id: id, content: result }));
  }
  if (turn.image === undefined) return [{ role: "user", content: turn.user }];
  const image = { type: "image_url", image_url: { url: turn.image } };
  return [{ role: "user", content: [{ type: "text", text: turn.user }, image] }];
};

const openaiUsage = (value: unknown): Heard["usage"] => {
  const usage = objectOf(value);
  const prompt = numberOrNull(usage["prompt_tokens"]);
  if (prompt === null) return undefined;
  const cacheRead = Number(objectOf(usage["prompt_tokens_details"])["cached_tokens"] ?? 0);
  return { input: prompt - cacheRead, output: Number(usage["completion_tokens"]), cacheRead };
};

const openai: Dialect = {
  path: () => "/v1/chat/completions",
  body: (talk, model, stream) =>
    given({
      model,
      messages: [
        ...(talk.system === undefined ? [] : [{ role: "system", content: talk.system }]),
        ...talk.turns.flatMap(openaiMessages),
      ],
      tools: talk.tools?.map((name) => ({
        type: "function",
        function: { name, description: described(name), parameters: toolSchema },
      })),
      tool_choice:
        typeof talk.toolChoice === "object"
          ? { type: "function", function: talk.toolChoice }
          : talk.toolChoice,
      max_completion_tokens: talk.maxTokens,
      temperature: talk.temperature,
      stop: talk.stop,
      response_format: talk.schema && {
        type: "json_schema",
        json_schema: { name: "answer", schema: talk.schema, strict: true },
      },
      reasoning_effort: talk.thinks === true ? "low" : undefined,
      stream: stream ? true : undefined,
      stream_options: stream ? { include_usage: true } : undefined,
    }),
  hear: (json) => {
    const choice = objectsOf(json["choices"])[0] ?? {};
    const message = objectOf(choice["message"]);
    return {
      text: stringOf(message["content"]),
      reasoning: stringOf(message["reasoning_content"]),
      calls: objectsOf(message["tool_calls"]).map((call) => {
        const { name, arguments: args } = objectOf(call["function"]);
        return { name: stringOf(name), arguments: parsedOr(stringOf(args)) };
      }),
      stop: openaiStops[stringOf(choice["finish_reason"])] ?? null,
      usage: openaiUsage(json["usage"]),
      error: errorOf(json),
    };
  },
  hearStream: (frames) => {
    const calls: { name: string; text: string }[] = [];
    let heard = nothing;
    for (const chunk of eventsOf(frames)) {
      const choice = objectsOf(chunk["choices"])[0] ?? {};
      const delta = objectOf(choice["delta"]);
      for (const call of objectsOf(delta["tool_calls"])) {
        const { name, arguments: text } = objectOf(call["function"]);
        const known = (calls[Number(call["index"])] ??= { name: "", text: "" });
        known.name += stringOf(name);
        known.text += stringOf(text);
      }
      heard = {
        ...heard,
        text: heard.text + stringOf(delta["content"]),
        reasoning: heard.reasoning + stringOf(delta["reasoning_content"]),
        stop: heard.stop ?? openaiStops[stringOf(choice["finish_reason"])] ?? null,
        usage: openaiUsage(chunk["usage"]) ?? heard.usage,
        error: heard.error ?? errorOf(chunk),
      };
    }
    return {
      ...heard,
      calls: calls.map(({ name, text }) => ({ name, arguments: parsedOr(text) })),
    };
  },
};

const openaiStops: Readonly<Record<string, string>> = {
  stop: "end",
  length: "length",
  tool_calls: "tool_calls",
  content_filter: "filtered",
};

const errorOf = (json: JsonObject): string | undefined => {
  const { message } = objectOf(json["error"]);
  return typeof message === "string" ? message : undefined;
};

// --- Anthropic

const anthropicMessages = (turn: TalkTurn): readonly JsonObject[] => {
  if ("calls" in turn) {
    const content = turn.calls.map(({ id, name, arguments: input }) => ({
      type: "tool_use",
      id,
      name,
      input,
    }));
    return [{ role: "assistant", content }];
  }
  if ("results" in turn) {
    const content = turn.results.map(({ id, result }) => ({
      type: "tool_result",
      tool_use_id: id,
      content: result,
    }));
    return [{ role: "user", content }];
  }
  if (turn.image === undefined) return [{ role: "user", content: turn.user }];
  return [{ role: "user", content: [{ type: "text", text: turn.user }, anthropicImage(turn.image)] }];
};

const anthropicImage = (url: string): JsonObject => {
  const bytes = dataUrl(url);
  return bytes
    ? { type: "image", source: { type: "base64", media_type: bytes.mimeType, data: bytes.data } }
    : { type: "image", source: { type: "url", url } };
};

const dataUrl = (url: string): { readonly mimeType: string; readonly data: string } | undefined => {
  const [, mimeType = "", data = ""] = /^data:([^;]+);base64,(.*)$/.exec(url) ?? [];
  return data === "" ? undefined : { mimeType, data };
};

/** There may be several reports; the last that has a figure counts. */
const anthropicUsage = (reports: readonly JsonObject[]): Heard["usage"] => {
  const last = (name: string): number | null =>
    reports.map((report) => numberOrNull(report[name])).findLast((figure) => figure !== null) ?? null;
  const output = last("output_tokens");
  if (output === null) return undefined;
  return { input: last("input_tokens") ?? 0, output, cacheRead: last("cache_read_input_tokens") ?? 0 };
};

const anthropic: Dialect = {
  path: () => "/v1/messages",
  body: (talk, model, stream) =>
    given({
      model,
      max_tokens: talk.maxTokens ?? 4096,
      system: talk.system,
      messages: talk.turns.flatMap(anthropicMessages),
      tools: talk.tools?.map((name) => ({ name, description: described(name), input_schema: toolSchema })),
      tool_choice: talk.toolChoice && anthropicChoice(talk.toolChoice),
      temperature: talk.temperature,
      stop_sequences: talk.stop,
      output_config: talk.schema && { format: { type: "json_schema", schema: talk.schema } },
      thinking: talk.thinks === true ? { type: "enabled", budget_tokens: budgetTokens } : undefined,
      stream: stream ? true : undefined,
    }),
  hear: (json) => {
    const blocks = objectsOf(json["content"]);
    const joined = (type: string, member: string): string =>
      blocks
        .filter((block) => block["type"] === type)
        .map((block) => stringOf(block[member]))
        .join("");
    return {
      text: joined("text", "text"),
      reasoning: joined("thinking", "thinking"),
      calls: blocks
        .filter(({ type }) => type === "tool_use")
        .map(({ name, input }) => ({ name: stringOf(name), arguments: input })),
      stop: anthropicStops[stringOf(json["stop_reason"])] ?? null,
      usage: anthropicUsage([objectOf(json["usage"])]),
      error: errorOf(json),
    };
  },
  hearStream: (frames) => {
    const blocks: { type: string; name: string; text: string }[] = [];
    const reports: JsonObject[] = [];
    let stop: string | null = null;
    let error: string | undefined;
    for (const event of eventsOf(frames)) {
      const delta = objectOf(event["delta"]);
      reports.push(objectOf(objectOf(event["message"])["usage"]), objectOf(event["usage"]));
      stop ??= anthropicStops[stringOf(delta["stop_reason"])] ?? null;
      error ??= errorOf(event);
      if (event["type"] === "content_block_start") {
        const { type, name, text } = objectOf(event["content_block"]);
        blocks[Number(event["index"])] = { type: stringOf(type), name: stringOf(name), text: stringOf(text) };
      }
      const block = blocks[Number(event["index"])];
      if (event["type"] !== "content_block_delta" || !block) continue;
      block.text += stringOf(delta["text"] ?? delta["thinking"] ?? delta["partial_json"]);
    }
    const ofType = (type: string): readonly (typeof blocks)[number][] =>
      blocks.filter((block) => block.type === type);
    return {
      text: ofType("text")
        .map(({ text }) => text)
        .join(""),
      reasoning: ofType("thinking")
        .map(({ text }) => text)
        .join(""),
      calls: ofType("tool_use").map(({ name, text }) => ({ name, arguments: parsedOr(text) })),
      stop,
      usage: anthropicUsage(reports),
      error,
    };
  },
};

const anthropicChoice = (choice: NonNullable<Talk["toolChoice"]>): JsonObject => {
  if (typeof choice === "object") return { type: "tool", name: choice.name };
  return { type: choice === "required" ? "any" : choice };
};

const anthropicStops: Readonly<Record<string, string>> = {
  end_turn: "end",
  stop_sequence: "end",
  max_tokens: "length",
  tool_use: "tool_calls",
  refusal: "filtered",
};

// --- Gemini

const geminiContent = (turn: TalkTurn): JsonObject => {
  if ("calls" in turn) {
    const parts = turn.calls.map(({ name, arguments: args }) => ({ functionCall: { name, args } }));
    return { role: "model", parts };
  }
  if ("results" in turn) {
    const parts = turn.results.map(({ name, result }) => ({
      functionResponse: { name, response: { output: result } },
    }));
    return { role: "user", parts };
  }
  const image = turn.image === undefined ? undefined : dataUrl(turn.image);
  const parts: JsonObject[] = [{ text: turn.user }];
  if (image) parts.push({ inlineData: image });
  else if (turn.image !== undefined) parts.push({ fileData: { fileUri: turn.image, mimeType: "image/png" } });
  return { role: "user", parts };
};

const geminiUsage = (value: unknown): Heard["usage"] => {
  const usage = objectOf(value);
  const prompt = numberOrNull(usage["promptTokenCount"]);
  if (prompt === null) return undefined;
  const figure = (name: string): number => Number(usage[name] ?? 0);
  return {
    input: prompt - figure("cachedContentTokenCount"),
    output: figure("candidatesTokenCount") + figure("thoughtsTokenCount"),
    cacheRead: figure("cachedContentTokenCount"),
  };
};

const geminiMode = (choice: NonNullable<Talk["toolChoice"]>): JsonObject => {
  if (typeof choice === "object") return { mode: "ANY", allowedFunctionNames: [choice.name] };
  return { mode: choice === "required" ? "ANY" : choice.toUpperCase() };
};

const gemini: Dialect = {
  path: (model, stream) =>
    `/v1beta/models/${model}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
  body: (talk) =>
    given({
      systemInstruction: talk.system === undefined ? undefined : { parts: [{ text: talk.system }] },
      contents: talk.turns.map(geminiContent),
      tools: talk.tools && [
        {
          functionDeclarations: talk.tools.map((name) => ({
            name,
            description: described(name),
            parametersJsonSchema: toolSchema,
          })),
        },
      ],
      toolConfig: talk.toolChoice && { functionCallingConfig: geminiMode(talk.toolChoice) },
      generationConfig: given({
        maxOutputTokens: talk.maxTokens,
        temperature: talk.temperature,
        stopSequences: talk.stop,
        responseMimeType: talk.schema && "application/json",
        responseJsonSchema: talk.schema,
        thinkingConfig:
          talk.thinks === true ? { thinkingBudget: budgetTokens, includeThoughts: true } : undefined,
      }),
    }),
  hear: (json) => hearGemini([json]),
  hearStream: (frames) => hearGemini(eventsOf(frames)),
};

const hearGemini = (chunks: readonly JsonObject[]): Heard => {
  let heard = nothing;
  for (const chunk of chunks) {
    const candidate = objectsOf(chunk["candidates"])[0] ?? {};
    const parts = objectsOf(objectOf(candidate["content"])["parts"]);
    const said = (thought: boolean): string =>
      parts
        .filter((part) => (part["thought"] === true) === thought)
        .map(({ text }) => stringOf(text))
        .join("");
    const calls = objectsOf(parts.map((part) => part["functionCall"]));
    heard = {
      text: heard.text + said(false),
      reasoning: heard.reasoning + said(true),
      calls: [
        ...heard.calls,
        ...calls.map(({ name, args }) => ({ name: stringOf(name), arguments: args ?? {} })),
      ],
      stop: heard.stop ?? geminiStops[stringOf(candidate["finishReason"])] ?? null,
      usage: geminiUsage(chunk["usageMetadata"]) ?? heard.usage,
      error: heard.error ?? errorOf(chunk),
    };
    if (listOf(heard.calls).length > 0 && heard.stop === "end") heard = { ...heard, stop: "tool_calls" };
  }
  return heard;
};

const geminiStops: Readonly<Record<string, string>> = {
  STOP: "end",
  MAX_TOKENS: "length",
  SAFETY: "filtered",
  PROHIBITED_CONTENT: "filtered",
};

// --- Responses

const responsesItems = (turn: TalkTurn): readonly JsonObject[] => {
  if ("calls" in turn) {
    return turn.calls.map(({ id, name, arguments: args }) => ({
      type: "function_call",
      call_id: id,
      name,
      arguments: JSON.stringify(args),
    }));
  }
  if ("results" in turn) {
    return turn.results.map(({ id, result }) => ({
      type: "function_call_output",
      call_id: id,
      output: result,
    }));
  }
  if (turn.image === undefined) return [{ role: "user", content: turn.user }];
  const image = { type: "input_image", image_url: turn.image, detail: "auto" };
  return [{ type: "message", role: "user", content: [{ type: "input_text", text: turn.user }, image] }];
};

const responses: Dialect = {
  path: () => "/v1/responses",
  body: (talk, model, stream) =>
    given({
      model,
      instructions: talk.system,
      input: talk.turns.flatMap(responsesItems),
      tools: talk.tools?.map((name) => ({
        type: "function",
        name,
        description: described(name),
        parameters: toolSchema,
        strict: false,
      })),
      tool_choice:
        typeof talk.toolChoice === "object" ? { type: "function", ...talk.toolChoice } : talk.toolChoice,
      max_output_tokens: talk.maxTokens,
      temperature: talk.temperature,
      text: talk.schema && { format: { type: "json_schema", name: "answer", schema: talk.schema } },
      reasoning: talk.thinks === true ? { effort: "low", summary: "auto" } : undefined,
      store: false,
      stream: stream ? true : undefined,
    }),
  hear: (json) => {
    const items = objectsOf(json["output"]);
    const textsOf = (type: string, list: string): string =>
      items
        .filter((item) => item["type"] === type)
        .flatMap((item) => objectsOf(item[list]))
        .map(({ text }) => stringOf(text))
        .join("");
    const calls = items
      .filter(({ type }) => type === "function_call")
      .map(({ name, arguments: args }) => ({ name: stringOf(name), arguments: parsedOr(stringOf(args)) }));
    const { reason } = objectOf(json["incomplete_details"]);
    const stops: Readonly<Record<string, string>> = {
      completed: calls.length > 0 ? "tool_calls" : "end",
      incomplete: reason === "max_output_tokens" ? "length" : "filtered",
    };
    const usage = objectOf(json["usage"]);
    const cacheRead = Number(objectOf(usage["input_tokens_details"])["cached_tokens"] ?? 0);
    const input = numberOrNull(usage["input_tokens"]);
    return {
      text: textsOf("message", "content"),
      reasoning: textsOf("reasoning", "summary"),
      calls,
      stop: stops[stringOf(json["status"])] ?? null,
      usage:
        input === null
          ? undefined
          : { input: input - cacheRead, output: Number(usage["output_tokens"]), cacheRead },
      error: errorOf(json),
    };
  },
  // What its pieces say has to be what its end repeats.
  hearStream: (frames) => {
    const events = eventsOf(frames);
    const joined = (type: string): string =>
      events
        .filter((event) => event["type"] === type)
        .map(({ delta }) => stringOf(delta))
        .join("");
    const last = events.findLast(({ response }) => response !== undefined);
    const error = events.map(errorOf).find((message) => message !== undefined);
    const heard = responses.hear(objectOf(last?.["response"]));
    return {
      ...heard,
      text: joined("response.output_text.delta"),
      reasoning: joined("response.reasoning_summary_text.delta"),
      error: error ?? heard.error,
    };
  },
};

export const dialects: Readonly<Record<SpokenName, Dialect>> = { openai, anthropic, gemini, responses };
