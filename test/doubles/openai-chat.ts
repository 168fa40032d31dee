// How OpenAI says a chat completion, whole or in a stream.

import { isObject, jsonAnswer } from "./vendor-checks.ts";
import type { JsonObject } from "./vendor-checks.ts";
import type { Reply, StopKind } from "./model-reply.ts";
import { serverError } from "./openai-refusal.ts";
import type { Answer, StreamProgress } from "./scripted-answer.ts";
import { dataEvent, heartbeat, sseHeaders, withShares } from "./sse.ts";
import type { WeighedEvent } from "./sse.ts";

export interface Said {
  readonly completion: { readonly id: string; readonly created: number; readonly model: string };
  readonly reply: Reply;
  /** Undefined where it is omitted. */
  readonly usage: unknown;
  readonly body: JsonObject;
}

export const choiceCount = (body: JsonObject): number => Number(body["n"] ?? 1);

export const wholeChat = ({ completion, reply, usage, body }: Said): Answer =>
  jsonAnswer(200, {
    ...completion,
    object: "chat.completion",
    choices: Array.from({ length: choiceCount(body) }, (_, index) => ({
      index,
      message: {
        role: "assistant",
        content: reply.text === "" && reply.toolCalls.length > 0 ? null : reply.text,
        refusal: null,
        annotations: [],
        ...(showsThoughts(completion, reply) && { reasoning_content: reply.reasoning }),
        ...(reply.toolCalls.length > 0 && {
          tool_calls: reply.toolCalls.map(({ id, name, arguments: text }) => ({
            id,
            type: "function",
            function: { name, arguments: text },
          })),
        }),
      },
      logprobs: null,
      finish_reason: finishReasons[reply.stop],
    })),
    usage,
    service_tier: "default",
  });

export const streamedChat = ({
  completion,
  reply,
  usage,
  body,
  report,
}: Said & { readonly report: (progress: StreamProgress) => void }): Answer => {
  const options = isObject(body["stream_options"]) ? body["stream_options"] : {};
  const includeUsage = options["include_usage"] === true;
  const obfuscate = options["include_obfuscation"] !== false;
  let written = 0;
  const chunk = (rest: JsonObject): string => {
    written += 1;
    return dataEvent({
      ...completion,
      object: "chat.completion.chunk",
      service_tier: "default",
      system_fingerprint: null,
      ...rest,
      // Padding against those who measure packets; a reader has to step over it.
      obfuscation: obfuscate ? padding.slice(0, 1 + (written % padding.length)) : undefined,
    });
  };
  const delta = (index: number, change: JsonObject, finishReason: string | null = null): string =>
    chunk({
      choices: [{ index, delta: change, logprobs: null, finish_reason: finishReason }],
      // `usage: undefined` is dropped by JSON: only callers who asked see `usage: null`.
      usage: includeUsage ? null : undefined,
    });

  const events = Array.from({ length: choiceCount(body) }, (_, index): readonly WeighedEvent[] => [
    {
      // Nobody sees it think, but it did before it spoke.
      tokens: reply.reasoningTokens,
      wire: delta(index, {
        role: "assistant",
        content: reply.text === "" && reply.toolCalls.length > 0 ? null : "",
        refusal: null,
      }),
    },
    ...(showsThoughts(completion, reply) ? reply.reasoningPieces : []).map(({ text }) => ({
      wire: delta(index, { content: null, reasoning_content: text }),
    })),
    ...reply.textPieces.map(({ text, tokens }) => ({ tokens, wire: delta(index, { content: text }) })),
    ...callFragments(reply).map(({ tokens, call }) => ({
      tokens,
      wire: delta(index, { tool_calls: [call] }),
    })),
    { wire: delta(index, {}, finishReasons[reply.stop]) },
  ]).flat();
  if (includeUsage && usage !== undefined) {
    events.push({ wire: chunk({ choices: [], usage }), unmetered: null });
  }
  events.push({ wire: "data: [DONE]\n\n" });
  return {
    status: 200,
    headers: sseHeaders,
    stream: {
      events: withShares(events),
      error: dataEvent({ error: serverError }),
      say: (content) => delta(0, { content }),
      heartbeat: heartbeat,
      report,
    },
  };
};

/** OpenAI shows none; of those who speak like it, some show them always, in a member of their own. */
const showsThoughts = ({ model }: Said["completion"], { reasoning }: Reply): boolean =>
  model.startsWith("deepseek") && reasoning !== "";

const padding = "kQ0vZ8xTn3LbA";

const finishReasons: Record<StopKind, string> = {
  end: "stop",
  length: "length",
  tool_calls: "tool_calls",
  filtered: "content_filter",
};

interface CallFragment {
  readonly tokens: number;
  readonly call: JsonObject;
}

function callFragments({ toolCalls, interleaved }: Reply): readonly CallFragment[] {
  const perCall = toolCalls.map(({ id, name, pieces }, index): readonly CallFragment[] => [
    { tokens: 0, call: { index, id, type: "function", function: { name, arguments: "" } } },
    ...pieces.map(({ text, tokens }) => ({ tokens, call: { index, function: { arguments: text } } })),
  ]);
  if (!interleaved) return perCall.flat();
  const rounds = Math.max(0, ...perCall.map(({ length }) => length));
  return Array.from({ length: rounds }, (_, round) =>
    perCall.flatMap((all) => all.slice(round, round + 1)),
  ).flat();
}
