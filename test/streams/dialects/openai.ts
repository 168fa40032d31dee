import { numberOrNull, objectOf, objectsOf, parsedOr, stringOf } from "../../doubles/json-read.ts";
import type { JsonObject } from "../../doubles/vendor-checks.ts";
import {
  described,
  errorOf,
  eventsOf,
  given,
  nothing,
  toolSchema,
  type Dialect,
  type Heard,
  type TalkTurn,
} from "./talk.ts";

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

export const openai: Dialect = {
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
