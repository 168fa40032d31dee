// A chat completion in chunks: the role, then words or tool calls, then the reason to finish.

import { fragmentsOf } from "../../model/fragments.ts";
import type { Call, Reply } from "../../model/reply.ts";
import type { JsonObject, StreamEvent } from "../../vendor.ts";
import { logprobsOf, type TopLogprobs } from "./logprobs.ts";
import { nothingYet, type Generated, type Meter } from "./meter.ts";

interface ChunkedChat {
  readonly head: JsonObject;
  readonly replies: readonly Reply[];
  readonly meter: Meter;
  readonly includeUsage: boolean;
  readonly topLogprobs: TopLogprobs;
}

export function* chunksOf(chat: ChunkedChat): Generator<StreamEvent> {
  const { head, replies, meter, includeUsage, topLogprobs } = chat;
  let generated: Generated = nothingYet;
  const usage = includeUsage ? { usage: null } : {};
  const chunk = (choices: readonly JsonObject[], more: JsonObject = usage): StreamEvent => ({
    data: { ...head, object: "chat.completion.chunk", choices, ...more },
    billed: meter.billed(generated),
  });

  for (const [index, reply] of replies.entries()) {
    const { output, reasoning } = generated;
    generated = { output: output + reply.thoughtTokens, reasoning: reasoning + reply.thoughtTokens };
    for (const { delta, text = "", tokens = 0 } of deltasOf(reply)) {
      generated = { ...generated, output: generated.output + tokens };
      yield chunk([{ index, delta, logprobs: logprobsOf(text, topLogprobs), finish_reason: null }]);
    }
    yield chunk([{ index, delta: {}, logprobs: null, finish_reason: reply.finish }]);
  }

  if (includeUsage) yield { ...chunk([], { usage: meter.usage(generated) }), usageOnly: true };
  yield { data: "[DONE]", billed: meter.billed(generated) };
}

interface Delta {
  readonly delta: JsonObject;
  /** What of it is said, and no call. */
  readonly text?: string;
  readonly tokens?: number;
}

function* deltasOf({ text, calls }: Reply): Generator<Delta> {
  yield { delta: { role: "assistant", content: calls.length === 0 ? "" : null, refusal: null } };
  for (const fragment of fragmentsOf(text)) yield { delta: { content: fragment.text }, ...fragment };

  for (const [index, call] of calls.entries()) {
    yield { delta: { tool_calls: [{ index, ...calledOf(call, "") }] } };
    for (const { text: piece, tokens } of fragmentsOf(call.argumentsText))
      yield { delta: { tool_calls: [{ index, ...givenTo(call, piece) }] }, tokens };
  }
}

/** A call with what it is given, or the beginning of that. */
export const calledOf = (call: Call, given: string): JsonObject =>
  call.takesText === true
    ? { id: `call_${call.id}`, type: "custom", custom: { name: call.name, input: given } }
    : { id: `call_${call.id}`, type: "function", function: { name: call.name, arguments: given } };

const givenTo = ({ takesText }: Call, piece: string): JsonObject =>
  takesText === true ? { custom: { input: piece } } : { function: { arguments: piece } };
