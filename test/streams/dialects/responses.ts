import { numberOrNull, objectOf, objectsOf, parsedOr, stringOf } from "../../doubles/json-read.ts";
import type { JsonObject } from "../../doubles/vendor-checks.ts";
import { described, errorOf, eventsOf, given, toolSchema, type Dialect, type TalkTurn } from "./talk.ts";

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

export const responses: Dialect = {
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
