import { numberOrNull, objectOf, objectsOf, parsedOr, stringOf } from "../../doubles/json-read.ts";
import type { JsonObject } from "../../doubles/vendor-checks.ts";
import {
  budgetTokens,
  dataUrl,
  described,
  errorOf,
  eventsOf,
  given,
  toolSchema,
  type Dialect,
  type Heard,
  type Talk,
  type TalkTurn,
} from "./talk.ts";

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

/** There may be several reports; the last that has a figure counts. */
const anthropicUsage = (reports: readonly JsonObject[]): Heard["usage"] => {
  const last = (name: string): number | null =>
    reports.map((report) => numberOrNull(report[name])).findLast((figure) => figure !== null) ?? null;
  const output = last("output_tokens");
  if (output === null) return undefined;
  return { input: last("input_tokens") ?? 0, output, cacheRead: last("cache_read_input_tokens") ?? 0 };
};

export const anthropic: Dialect = {
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
