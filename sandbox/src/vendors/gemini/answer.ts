// What the vendor answers: candidates and usage, whole or as a stream in which both grow.

import { fragmentsOf } from "../../model/fragments.ts";
import type { Reply } from "../../model/reply.ts";
import { parseObject, type Billed, type JsonObject, type StreamEvent } from "../../vendor.ts";

/** Tokens so far: thoughts are counted beside the candidates' tokens here, not among them. */
interface Generated {
  readonly candidates: number;
  readonly thoughts: number;
}

export interface Meter {
  readonly usage: (generated: Generated) => JsonObject;
  readonly billed: (generated: Generated) => Billed;
}

export const createMeter = ({
  prompt,
  images,
  cached,
}: {
  prompt: number;
  images: number;
  cached: number;
}): Meter => ({
  // As everything in this protocol, a count of zero is left out.
  usage: ({ candidates, thoughts }) => ({
    promptTokenCount: prompt,
    ...(cached > 0 ? { cachedContentTokenCount: cached } : {}),
    ...(candidates > 0 ? { candidatesTokenCount: candidates } : {}),
    ...(thoughts > 0 ? { thoughtsTokenCount: thoughts } : {}),
    totalTokenCount: prompt + candidates + thoughts,
    promptTokensDetails: modalities({ prompt, images }),
  }),
  billed: ({ candidates, thoughts }) => ({
    input_tokens: prompt,
    cached_tokens: cached,
    output_tokens: candidates + thoughts,
    ...(thoughts > 0 ? { reasoning_tokens: thoughts } : {}),
  }),
});

export const modalities = ({ prompt, images }: { prompt: number; images: number }): JsonObject[] => [
  { modality: "TEXT", tokenCount: prompt - images },
  ...(images > 0 ? [{ modality: "IMAGE", tokenCount: images }] : []),
];

export interface Answer {
  /** Members that every chunk repeats. */
  readonly tail: JsonObject;
  readonly replies: readonly Reply[];
  readonly meter: Meter;
  readonly includeThoughts: boolean;
}

export function wholeAnswer({ tail, replies, meter, includeThoughts }: Answer) {
  const generated = {
    candidates: replies.reduce((sum, { tokens, thoughtTokens }) => sum + tokens - thoughtTokens, 0),
    thoughts: replies.reduce((sum, { thoughtTokens }) => sum + thoughtTokens, 0),
  };
  const candidates = replies.map((reply, index) => ({
    content: { parts: [...partsOf(reply, includeThoughts)].map(({ part }) => part), role: "model" },
    finishReason: finishReasons[reply.finish],
    index,
  }));
  const body = { candidates, usageMetadata: meter.usage(generated), ...tail };
  return { body, billed: meter.billed(generated) };
}

export function* answerChunks({ tail, replies, meter, includeThoughts }: Answer): Generator<StreamEvent> {
  let soFar: Generated = { candidates: 0, thoughts: 0 };

  for (const [index, reply] of replies.entries()) {
    const hidden = includeThoughts ? 0 : reply.thoughtTokens;
    soFar = { ...soFar, thoughts: soFar.thoughts + hidden };
    const parts = [...partsOf(reply, includeThoughts)].flatMap(inFragments);
    // A candidate without a word still says why it finished.
    const sent = parts.length === 0 ? [{ part: { text: "" }, tokens: 0 }] : parts;
    for (const [n, { part, tokens }] of sent.entries()) {
      const counted = "thought" in part ? "thoughts" : "candidates";
      soFar = { ...soFar, [counted]: soFar[counted] + tokens };
      const finish = n === sent.length - 1 ? { finishReason: finishReasons[reply.finish] } : {};
      const candidate = { content: { parts: [part], role: "model" }, ...finish, index };
      yield {
        data: { candidates: [candidate], usageMetadata: meter.usage(soFar), ...tail },
        billed: meter.billed(soFar),
      };
    }
  }
}

interface Part {
  readonly part: JsonObject;
  readonly tokens: number;
}

function* partsOf(reply: Reply, includeThoughts: boolean): Generator<Part> {
  const { thoughts, thoughtTokens, text, calls, tokens } = reply;
  if (includeThoughts && thoughts !== "")
    yield { part: { text: thoughts, thought: true }, tokens: thoughtTokens };
  if (text !== "") yield { part: { text }, tokens: tokens - thoughtTokens };
  for (const { name, argumentsText } of calls) {
    // Arguments that were cut are no object, and there is no other way to send them.
    const args = parseObject(argumentsText);
    const counted = [...fragmentsOf(argumentsText)].reduce((sum, fragment) => sum + fragment.tokens, 0);
    yield { part: args === undefined ? { text: "" } : { functionCall: { name, args } }, tokens: counted };
  }
}

/** Texts come word by word, calls whole. */
const inFragments = ({ part, tokens }: Part): Part[] =>
  typeof part["text"] === "string" && part["text"] !== ""
    ? [...fragmentsOf(part["text"])].map((each) => ({
        part: { ...part, text: each.text },
        tokens: each.tokens,
      }))
    : [{ part, tokens }];

const finishReasons = { stop: "STOP", length: "MAX_TOKENS", tool_calls: "STOP" } as const;
