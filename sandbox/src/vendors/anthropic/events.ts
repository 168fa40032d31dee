// A message in events: begun, each block opened, filled and closed, then why it stopped and what it used.

import { fragmentsOf } from "../../model/fragments.ts";
import type { Reply } from "../../model/reply.ts";
import type { JsonObject, StreamEvent } from "../../vendor.ts";
import { stopOf, toolUseOf, type Meter } from "./answer.ts";
import { signatureOf } from "./signature.ts";

interface StreamedMessage {
  /** The message without content, usage and the reason to stop. */
  readonly head: JsonObject;
  readonly reply: Reply;
  readonly meter: Meter;
}

export function* messageEvents({ head, reply, meter }: StreamedMessage): Generator<StreamEvent> {
  let soFar = { output: 0, thinking: 0 };
  const event = (type: string, data: JsonObject = {}): StreamEvent => ({
    event: type,
    data: { type, ...data },
    billed: meter.billed(soFar),
  });

  const begun = { ...head, content: [], stop_reason: null, stop_sequence: null, usage: meter.usage(0) };
  yield event("message_start", { message: begun });

  for (const [index, block] of blocksOf(reply).entries()) {
    yield event("content_block_start", { index, content_block: block.begun });
    if (index === 0) yield event("ping");
    for (const { delta, tokens = 0 } of block.deltas) {
      const thinking = block.isThinking ? tokens : 0;
      soFar = { output: soFar.output + tokens, thinking: soFar.thinking + thinking };
      yield event("content_block_delta", { index, delta });
    }
    yield event("content_block_stop", { index });
  }

  const { service_tier: _, ...usage } = meter.usage(soFar.output);
  yield event("message_delta", { delta: stopOf(reply), usage });
  yield event("message_stop");
}

interface StreamedBlock {
  readonly begun: JsonObject;
  readonly isThinking: boolean;
  readonly deltas: Iterable<Delta>;
}

interface Delta {
  readonly delta: JsonObject;
  readonly tokens?: number;
}

const blocksOf = ({ thoughts, text, calls }: Reply): StreamedBlock[] => [
  ...(thoughts === ""
    ? []
    : [
        {
          begun: { type: "thinking", thinking: "", signature: "" },
          isThinking: true,
          deltas: thinkingDeltas(thoughts),
        },
      ]),
  ...(text === ""
    ? []
    : [{ begun: { type: "text", text: "" }, isThinking: false, deltas: deltas(text, textDelta) }]),
  ...calls.map((call) => ({
    begun: toolUseOf(call),
    isThinking: false,
    deltas: inputDeltas(call.argumentsText),
  })),
];

function* thinkingDeltas(thoughts: string): Generator<Delta> {
  yield* deltas(thoughts, (thinking) => ({ type: "thinking_delta", thinking }));
  yield { delta: { type: "signature_delta", signature: signatureOf(thoughts) } };
}

function* inputDeltas(text: string): Generator<Delta> {
  yield { delta: inputDelta("") };
  yield* deltas(text, inputDelta);
}

const textDelta = (text: string): JsonObject => ({ type: "text_delta", text });
const inputDelta = (json: string): JsonObject => ({ type: "input_json_delta", partial_json: json });

function* deltas(text: string, deltaOf: (text: string) => JsonObject): Generator<Delta> {
  for (const fragment of fragmentsOf(text)) yield { delta: deltaOf(fragment.text), tokens: fragment.tokens };
}
