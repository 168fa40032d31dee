// The items of an answer: thoughts kept to itself, a message, or calls.

import type { Call, Reply } from "../../model/reply.ts";
import { fingerprint } from "../../seeded.ts";
import type { JsonObject } from "../../vendor.ts";

export interface Item {
  readonly item: JsonObject;
  /** What is streamed of it; undefined where nothing is. */
  readonly spoken: { readonly text: string; readonly as: "text" | "arguments" | "input" } | undefined;
  /** Generated without being shown. */
  readonly hiddenTokens: number;
}

/** `sealed`: thoughts are given along, for a caller who will bring them back and has nothing kept. */
export const itemsOf = (reply: Reply, seed: string, sealed: boolean): readonly Item[] => [
  ...(reply.thoughtTokens > 0 ? [thoughtsOf(reply, seed, sealed)] : []),
  ...(reply.calls.length > 0 ? reply.calls.map((call) => callOf(call)) : [messageOf(reply, seed)]),
];

const thoughtsOf = ({ thoughts, thoughtTokens }: Reply, seed: string, sealed: boolean): Item => ({
  item: {
    id: `rs_${seed}`,
    type: "reasoning",
    summary: [],
    ...(sealed ? { encrypted_content: seal(thoughts) } : {}),
  },
  spoken: undefined,
  hiddenTokens: thoughtTokens,
});

/** Nobody opens it: this model does not read its thoughts again. */
const seal = (thoughts: string): string => Buffer.from(fingerprint(`sealed ${thoughts}`)).toString("base64");

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

const callOf = (call: Call): Item => (call.takesText === true ? customCallOf(call) : functionCallOf(call));

const functionCallOf = (call: Call): Item => ({
  item: { id: `fc_${call.id}`, type: "function_call", ...calledOf(call), arguments: call.argumentsText },
  spoken: { text: call.argumentsText, as: "arguments" },
  hiddenTokens: 0,
});

const customCallOf = (call: Call): Item => ({
  item: { id: `ctc_${call.id}`, type: "custom_tool_call", ...calledOf(call), input: call.argumentsText },
  spoken: { text: call.argumentsText, as: "input" },
  hiddenTokens: 0,
});

const calledOf = ({ id, name, namespace, cut }: Call): JsonObject => ({
  status: cut ? "incomplete" : "completed",
  call_id: `call_${id}`,
  name,
  ...(namespace === undefined ? {} : { namespace }),
});

export const textPart = (text: string): JsonObject => ({
  type: "output_text",
  annotations: [],
  logprobs: [],
  text,
});
