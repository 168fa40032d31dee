// The items of an answer: thoughts kept to itself, a message, or calls.

import type { Call, Reply } from "../../model/reply.ts";
import type { JsonObject } from "../../vendor.ts";

export interface Item {
  readonly item: JsonObject;
  /** What is streamed of it; undefined where nothing is. */
  readonly spoken: { readonly text: string; readonly as: "text" | "arguments" } | undefined;
  /** Generated without being shown. */
  readonly hiddenTokens: number;
}

export const itemsOf = (reply: Reply, seed: string): readonly Item[] => [
  ...(reply.thoughtTokens > 0 ? [thoughtsOf(reply, seed)] : []),
  ...(reply.calls.length > 0 ? reply.calls.map((call) => callOf(call)) : [messageOf(reply, seed)]),
];

const thoughtsOf = ({ thoughtTokens }: Reply, seed: string): Item => ({
  item: { id: `rs_${seed}`, type: "reasoning", summary: [] },
  spoken: undefined,
  hiddenTokens: thoughtTokens,
});

const messageOf = ({ text, finish }: Reply, seed: string): Item => ({
  item: {
    id: `msg_${seed}`,
    type: "message",
    status: finish === "length" ? "incomplete" : "completed",
    role: "assistant",
    content: [textPart(text)],
  },
  spoken: { text, as: "text" },
  hiddenTokens: 0,
});

const callOf = ({ id, name, argumentsText, cut }: Call): Item => ({
  item: {
    id: `fc_${id}`,
    type: "function_call",
    status: cut ? "incomplete" : "completed",
    call_id: `call_${id}`,
    name,
    arguments: argumentsText,
  },
  spoken: { text: argumentsText, as: "arguments" },
  hiddenTokens: 0,
});

export const textPart = (text: string): JsonObject => ({
  type: "output_text",
  annotations: [],
  logprobs: [],
  text,
});
