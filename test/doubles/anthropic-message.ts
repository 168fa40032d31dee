// How Anthropic says a message, whole or in a stream.

import type { Reply } from "./model-reply.ts";
import type { Answer, StreamProgress } from "./scripted-answer.ts";
import { heartbeat, sseHeaders, typedEvent, withShares } from "./sse.ts";
import type { WeighedEvent } from "./sse.ts";
import type { UsageDialect } from "./token-usage.ts";
import { isObject, jsonAnswer } from "./vendor-checks.ts";
import type { JsonObject } from "./vendor-checks.ts";

/** Input excludes what was cached; lifetimes are told apart; thinking is inside the output. */
export const messagesUsage: UsageDialect = {
  fold: (tokens) => tokens,
  say: (tokens) => ({
    input_tokens: tokens.input,
    cache_creation_input_tokens: tokens.cacheWrite + tokens.cacheWrite1h,
    cache_read_input_tokens: tokens.cacheRead,
    cache_creation: {
      ephemeral_5m_input_tokens: tokens.cacheWrite,
      ephemeral_1h_input_tokens: tokens.cacheWrite1h,
    },
    output_tokens: tokens.output,
    service_tier: "standard",
  }),
};

interface Said {
  readonly id: string;
  readonly model: string;
  readonly reply: Reply;
  readonly showsThinking: boolean;
  /** It is signed, but not shown. */
  readonly omitsThought: boolean;
  /** Undefined where it is omitted. */
  readonly usage: unknown;
}

export const wholeMessage = ({ reply, usage, ...said }: Said): Answer =>
  jsonAnswer(200, {
    ...shell(said),
    content: [
      ...(said.showsThinking && reply.reasoning !== ""
        ? [
            {
              type: "thinking",
              thinking: said.omitsThought ? "" : reply.reasoning,
              signature: validSignature,
            },
          ]
        : []),
      ...(reply.text === "" ? [] : [{ type: "text", text: reply.text }]),
      ...reply.toolCalls.map(({ id, name, arguments: text }) => ({
        type: "tool_use",
        id,
        name,
        input: inputOf(text),
      })),
    ],
    ...stopOf(reply),
    usage,
  });

export const streamedMessage = ({
  reply,
  usage,
  report,
  ...said
}: Said & { readonly report: (progress: StreamProgress) => void }): Answer => {
  const blocks = blocksOf(reply, said);
  const events: WeighedEvent[] = [
    {
      // A thought that is not shown is thought before anything is.
      tokens: blocks.some(({ start }) => start["type"] === "thinking") ? 0 : reply.reasoningTokens,
      wire: typedEvent({
        type: "message_start",
        message: {
          ...shell(said),
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: firstUsage(usage),
        },
      }),
    },
    ...blocks.flatMap(({ start, deltas }, index): readonly WeighedEvent[] => [
      { wire: typedEvent({ type: "content_block_start", index, content_block: start }) },
      ...(index === 0 ? [{ wire: ping }] : []),
      ...deltas.map(({ delta, tokens }) => ({
        tokens,
        wire: typedEvent({ type: "content_block_delta", index, delta }),
      })),
      { wire: typedEvent({ type: "content_block_stop", index }) },
    ]),
    {
      wire: typedEvent({ type: "message_delta", delta: stopOf(reply), usage: lastUsage(usage) }),
      unmetered: typedEvent({ type: "message_delta", delta: stopOf(reply) }),
    },
    { wire: typedEvent({ type: "message_stop" }) },
  ];
  return {
    status: 200,
    headers: sseHeaders,
    stream: {
      events: withShares(events),
      error: typedEvent({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }),
      say: (text) =>
        typedEvent({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } }),
      heartbeat: heartbeat,
      report,
    },
  };
};

export const validSignature = "EqQBCgIYAhIkc2lnbmVkLWJ5LXRoZS1kb3VibGU=";
const ping = typedEvent({ type: "ping" });

const stopReasons = {
  end: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  filtered: "refusal",
} as const;

const shell = ({ id, model }: Pick<Said, "id" | "model">): JsonObject => ({
  id,
  type: "message",
  role: "assistant",
  model,
});

const stopOf = ({ stop, stopSequence }: Reply): JsonObject => ({
  stop_reason: stopSequence === null ? stopReasons[stop] : "stop_sequence",
  stop_sequence: stopSequence,
});

/** The start knows the input, and of the output one token: who adds it to the last figure counts it twice. */
const firstUsage = (usage: unknown): unknown =>
  isObject(usage) && typeof usage["output_tokens"] === "number"
    ? { ...usage, output_tokens: Math.min(1, usage["output_tokens"]) }
    : usage;

/** The end repeats the input and leaves the cache null: who adds counts twice, who overwrites forgets. */
const lastUsage = (usage: unknown): unknown =>
  isObject(usage) && "cache_read_input_tokens" in usage
    ? {
        input_tokens: usage["input_tokens"],
        cache_creation_input_tokens: null,
        cache_read_input_tokens: null,
        output_tokens: usage["output_tokens"],
      }
    : usage;

interface Block {
  readonly start: JsonObject;
  readonly deltas: readonly { readonly delta: JsonObject; readonly tokens: number }[];
}

function blocksOf(
  reply: Reply,
  { showsThinking, omitsThought }: Pick<Said, "showsThinking" | "omitsThought">,
): readonly Block[] {
  const thinking: Block = {
    start: { type: "thinking", thinking: "", signature: "" },
    deltas: [
      ...reply.reasoningPieces.map(({ text, tokens }) => ({
        tokens,
        delta: { type: "thinking_delta", thinking: omitsThought ? "" : text },
      })),
      { tokens: 0, delta: { type: "signature_delta", signature: validSignature } },
    ],
  };
  const text: Block = {
    start: { type: "text", text: "" },
    deltas: reply.textPieces.map((piece) => ({
      tokens: piece.tokens,
      delta: { type: "text_delta", text: piece.text },
    })),
  };
  return [
    ...(showsThinking && reply.reasoning !== "" ? [thinking] : []),
    ...(reply.text === "" ? [] : [text]),
    ...reply.toolCalls.map(({ id, name, arguments: whole, pieces }) => {
      inputOf(whole);
      return {
        start: { type: "tool_use", id, name, input: {} },
        deltas: [{ text: "", tokens: 0 }, ...pieces].map((piece) => ({
          tokens: piece.tokens,
          delta: { type: "input_json_delta", partial_json: piece.text },
        })),
      };
    }),
  ];
}

/** Anthropic's models write objects: a script that has them write anything else is a mistake of the test's. */
function inputOf(text: string): JsonObject {
  const input: unknown = JSON.parse(text);
  if (!isObject(input)) throw new Error(`not an object: ${text}`);
  return input;
}
