// How OpenAI says a response, whole or in a stream.

import { listOf, objectOf } from "./json-read.ts";
import { sealedThought, thoughtId } from "./openai-responses-request.ts";
import type { Reply } from "./model-reply.ts";
import { serverError } from "./openai-refusal.ts";
import type { Answer, StreamProgress } from "./scripted-answer.ts";
import { heartbeat, sseHeaders, typedEvent, withShares } from "./sse.ts";
import type { WeighedEvent } from "./sse.ts";
import { jsonAnswer } from "./vendor-checks.ts";
import type { JsonObject } from "./vendor-checks.ts";

interface Said {
  readonly response: { readonly id: string; readonly created_at: number; readonly model: string };
  readonly reply: Reply;
  /** Undefined where it is omitted. */
  readonly usage: unknown;
  readonly body: JsonObject;
}

export const wholeResponse = (said: Said): Answer => jsonAnswer(200, ended(said, said.usage));

export const streamedResponse = ({
  report,
  ...said
}: Said & { readonly report: (progress: StreamProgress) => void }): Answer => {
  const obfuscate = objectOf(said.body["stream_options"])["include_obfuscation"] !== false;
  let sequence = 0;
  const event = (type: string, rest: JsonObject): string => {
    const padding =
      obfuscate && type.endsWith(".delta") ? { obfuscation: "kQ0vZ8xTn3LbA".slice(sequence % 12) } : {};
    return typedEvent({ type, sequence_number: sequence++, ...rest, ...padding });
  };

  const begun = { ...shell(said), status: "in_progress", output: [], usage: null };
  const events: WeighedEvent[] = [
    { wire: event("response.created", { response: begun }) },
    {
      // Thinking that is not shown is done before anything is.
      tokens: summarizes(said) ? 0 : said.reply.reasoningTokens,
      wire: event("response.in_progress", { response: begun }),
    },
    ...itemsOf(said).flatMap((item, index) => itemEvents({ said, item, index, event })),
  ];
  const last = said.reply.stop === "length" || said.reply.stop === "filtered" ? "incomplete" : "completed";
  const final = (usage: unknown): string => event(`response.${last}`, { response: ended(said, usage) });
  const unmetered = final(undefined);
  sequence -= 1;
  events.push({ wire: final(said.usage), unmetered });
  return {
    status: 200,
    headers: sseHeaders,
    stream: {
      events: withShares(events),
      error: typedEvent({ ...serverError, type: "error", code: "server_error", sequence_number: sequence }),
      say: (delta) =>
        event("response.output_text.delta", { item_id: "msg_0", output_index: 0, content_index: 0, delta }),
      heartbeat: heartbeat,
      report,
    },
  };
};

const shell = ({ response, body }: Said): JsonObject => ({
  ...response,
  object: "response",
  error: null,
  incomplete_details: null,
  instructions: body["instructions"] ?? null,
  max_output_tokens: body["max_output_tokens"] ?? null,
  metadata: body["metadata"] ?? {},
  parallel_tool_calls: body["parallel_tool_calls"] ?? true,
  previous_response_id: body["previous_response_id"] ?? null,
  service_tier: "default",
  store: body["store"] ?? true,
  temperature: body["temperature"] ?? 1,
  tool_choice: body["tool_choice"] ?? "auto",
  tools: body["tools"] ?? [],
  top_p: body["top_p"] ?? 1,
});

function ended(said: Said, usage: unknown): JsonObject {
  const reason = { length: "max_output_tokens", filtered: "content_filter", end: null, tool_calls: null }[
    said.reply.stop
  ];
  return {
    ...shell(said),
    status: reason === null ? "completed" : "incomplete",
    incomplete_details: reason === null ? null : { reason },
    output: itemsOf(said),
    usage,
  };
}

type Item = JsonObject & { readonly id: string };

const summarizes = ({ reply, body }: Said): boolean =>
  reply.reasoning !== "" && typeof objectOf(body["reasoning"])["summary"] === "string";

/** Who has nothing kept gets what was thought to keep it himself. */
const seals = ({ reply, body }: Said): boolean =>
  reply.reasoning !== "" && listOf(body["include"]).includes("reasoning.encrypted_content");

function itemsOf(said: Said): readonly Item[] {
  const { reply } = said;
  const status = "completed";
  const thinking: Item = {
    id: thoughtId,
    type: "reasoning",
    summary: summarizes(said) ? [{ type: "summary_text", text: reply.reasoning }] : [],
    ...(seals(said) && { encrypted_content: sealedThought }),
  };
  const message: Item = {
    id: "msg_0",
    type: "message",
    status,
    role: "assistant",
    content: [textPart(reply.text)],
  };
  return [
    ...(summarizes(said) || seals(said) ? [thinking] : []),
    ...(reply.text !== "" || reply.toolCalls.length === 0 ? [message] : []),
    ...reply.toolCalls.map(({ id, name, arguments: text }, index) => ({
      id: `fc_${index}`,
      type: "function_call",
      status,
      call_id: id,
      name,
      arguments: text,
    })),
  ];
}

const textPart = (text: string): JsonObject => ({ type: "output_text", text, annotations: [], logprobs: [] });

const itemEvents = ({
  said,
  item,
  index,
  event,
}: {
  readonly said: Said;
  readonly item: Item;
  readonly index: number;
  readonly event: (type: string, rest: JsonObject) => string;
}): readonly WeighedEvent[] => {
  const at = { item_id: item.id, output_index: index };
  const { reply } = said;
  const bare = {
    ...item,
    ...("summary" in item && { summary: [] }),
    ...("content" in item && { content: [] }),
    ...("arguments" in item && { arguments: "" }),
  };
  const started = {
    wire: event("response.output_item.added", {
      output_index: index,
      item: { ...bare, status: "in_progress" },
    }),
  };
  const inner = ((): readonly WeighedEvent[] => {
    switch (item["type"]) {
      case "reasoning": {
        const part = { ...at, summary_index: 0 };
        if (!summarizes(said)) return [];
        return [
          {
            wire: event("response.reasoning_summary_part.added", {
              ...part,
              part: { type: "summary_text", text: "" },
            }),
          },
          ...reply.reasoningPieces.map(({ text, tokens }) => ({
            tokens,
            wire: event("response.reasoning_summary_text.delta", { ...part, delta: text }),
          })),
          { wire: event("response.reasoning_summary_text.done", { ...part, text: reply.reasoning }) },
          {
            wire: event("response.reasoning_summary_part.done", {
              ...part,
              part: { type: "summary_text", text: reply.reasoning },
            }),
          },
        ];
      }
      case "message": {
        const part = { ...at, content_index: 0 };
        return [
          { wire: event("response.content_part.added", { ...part, part: textPart("") }) },
          ...reply.textPieces.map(({ text, tokens }) => ({
            tokens,
            wire: event("response.output_text.delta", { ...part, delta: text, logprobs: [] }),
          })),
          { wire: event("response.output_text.done", { ...part, text: reply.text, logprobs: [] }) },
          { wire: event("response.content_part.done", { ...part, part: textPart(reply.text) }) },
        ];
      }
      default: {
        const pieces = reply.toolCalls.find(({ id }) => id === item["call_id"])?.pieces ?? [];
        return [
          ...pieces.map(({ text, tokens }) => ({
            tokens,
            wire: event("response.function_call_arguments.delta", { ...at, delta: text }),
          })),
          {
            wire: event("response.function_call_arguments.done", {
              ...at,
              name: item["name"],
              arguments: item["arguments"],
            }),
          },
        ];
      }
    }
  })();
  return [started, ...inner, { wire: event("response.output_item.done", { output_index: index, item }) }];
};
