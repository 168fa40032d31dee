// How Gemini says its content: whole, as server-sent events, or as one JSON array that grows.

import type { Reply } from "./model-reply.ts";
import type { Answer, StreamProgress } from "./scripted-answer.ts";
import { dataEvent, heartbeat, withShares } from "./sse.ts";
import { promptOf, spentAt } from "./token-usage.ts";
import type { PlannedUsage, TokenUsage, UsageDialect } from "./token-usage.ts";
import { isObject, jsonAnswer } from "./vendor-checks.ts";
import type { JsonObject } from "./vendor-checks.ts";

/** The prompt includes what was cached, and nothing is said of writing a cache; thoughts stand beside the output. */
export const contentUsage: UsageDialect = {
  fold: (tokens) => ({
    ...tokens,
    input: tokens.input + tokens.cacheWrite + tokens.cacheWrite1h,
    cacheWrite: 0,
    cacheWrite1h: 0,
  }),
  say: (tokens) => ({
    promptTokenCount: promptOf(tokens),
    ...(tokens.cacheRead > 0 && { cachedContentTokenCount: tokens.cacheRead }),
    candidatesTokenCount: tokens.output - tokens.reasoning,
    ...(tokens.reasoning > 0 && { thoughtsTokenCount: tokens.reasoning }),
    totalTokenCount: promptOf(tokens) + tokens.output,
    promptTokensDetails: [{ modality: "TEXT", tokenCount: promptOf(tokens) }],
  }),
};

interface Said {
  readonly responseId: string;
  readonly model: string;
  readonly reply: Reply;
  readonly showsThoughts: boolean;
  readonly usage: PlannedUsage;
}

export function wholeContent(said: Said): Answer {
  const { usage, reply } = said;
  if (isBlocked(reply)) return jsonAnswer(200, blocked(said, usage.stated(usage.tokens)));
  const parts = partsOf(said, { whole: true }).map(({ part }) => part);
  return jsonAnswer(200, response(said, { parts, last: true, usage: usage.stated(usage.tokens) }));
}

export const streamedContent = ({
  sse,
  report,
  ...said
}: Said & { readonly sse: boolean; readonly report: (progress: StreamProgress) => void }): Answer => {
  const { usage, reply } = said;
  const pieces = partsOf(said, { whole: false });
  const hidden = said.showsThoughts ? 0 : reply.reasoningTokens;
  const weighed = withShares([
    // What is not shown was thought before the first word; the last chunk is there for its reason and its usage.
    ...pieces.map(({ tokens }, index) => ({ wire: "", tokens: tokens + (index === 0 ? hidden : 0) })),
    { wire: "", tokens: 0 },
  ]);
  const chunks = isBlocked(reply)
    ? [{ metered: blocked(said, usage.stated(usage.tokens)), unmetered: blocked(said, undefined), share: 1 }]
    : weighed.map(({ share }, index) => {
        const piece = pieces[index];
        const rest = { parts: [piece?.part ?? { text: "" }], last: piece === undefined };
        const soFar = usage.stated(spentAt(usage.tokens, { share }));
        return {
          metered: response(said, { ...rest, usage: soFar }),
          unmetered: response(said, { ...rest, usage: undefined }),
          share,
        };
      });
  const framed = (chunk: JsonObject, index: number): string => {
    if (sse) return dataEvent(chunk);
    const isLast = index === chunks.length - 1;
    return `${index === 0 ? "[" : ",\n"}${JSON.stringify(chunk)}${isLast ? "]\n" : ""}`;
  };
  return {
    status: 200,
    headers: { "Content-Type": sse ? "text/event-stream" : "application/json; charset=UTF-8" },
    stream: {
      events: chunks.map(({ metered, unmetered, share }, index) => ({
        wire: framed(metered, index),
        unmetered: framed(unmetered, index),
        share,
      })),
      error: sse ? dataEvent(unavailable) : `,\n${JSON.stringify(unavailable)}]\n`,
      say: (text) => {
        const chunk = response(said, { parts: [{ text }], last: false, usage: undefined });
        return sse ? dataEvent(chunk) : `,\n${JSON.stringify(chunk)}`;
      },
      heartbeat: sse ? heartbeat : "\n",
      report,
    },
  };
};

const unavailable = {
  error: { code: 503, message: "The model is overloaded. Please try again later.", status: "UNAVAILABLE" },
};

export const validSignature = "c2lnbmVkLWJ5LXRoZS1kb3VibGU=";

const finishReasons = { end: "STOP", length: "MAX_TOKENS", tool_calls: "STOP", filtered: "SAFETY" } as const;

/** Filtered before it said a word: then it is the prompt that was blocked. */
const isBlocked = ({ stop, text, toolCalls }: Reply): boolean =>
  stop === "filtered" && text === "" && toolCalls.length === 0;

const blocked = ({ model, responseId }: Said, usage: unknown): JsonObject => ({
  promptFeedback: { blockReason: "PROHIBITED_CONTENT" },
  usageMetadata: usage,
  modelVersion: model,
  responseId,
});

const response = (
  { model, responseId, reply }: Said,
  {
    parts,
    last,
    usage,
  }: { readonly parts: readonly JsonObject[]; readonly last: boolean; readonly usage: unknown },
): JsonObject => ({
  candidates: [
    {
      content: { parts, role: "model" },
      ...(last && { finishReason: finishReasons[reply.stop] }),
      index: 0,
    },
  ],
  usageMetadata: usage,
  modelVersion: model,
  responseId,
});

interface WeighedPart {
  readonly part: JsonObject;
  readonly tokens: number;
}

function partsOf(
  { reply, showsThoughts }: Said,
  { whole }: { readonly whole: boolean },
): readonly WeighedPart[] {
  const { text, textPieces, reasoning, reasoningPieces, toolCalls } = reply;
  const joined = (all: string, pieces: typeof textPieces): typeof textPieces =>
    whole && all !== "" ? [{ text: all, tokens: 0 }] : pieces;
  return [
    ...(showsThoughts ? joined(reasoning, reasoningPieces) : []).map((piece) => ({
      part: { text: piece.text, thought: true },
      tokens: piece.tokens,
    })),
    ...joined(text, textPieces).map((piece) => ({ part: { text: piece.text }, tokens: piece.tokens })),
    // A call comes in one piece, however long; the first carries the signature of the thought behind it.
    ...toolCalls.map(({ id, name, arguments: json, pieces }, index) => ({
      part: {
        functionCall: { id, name, args: argsOf(json) },
        ...(index === 0 && reasoning !== "" && { thoughtSignature: validSignature }),
      },
      tokens: pieces.reduce((sum, { tokens }) => sum + tokens, 0),
    })),
  ];
}

/** Gemini's models write objects: a script that has them write anything else is a mistake of the test's. */
function argsOf(json: string): JsonObject {
  const args: unknown = JSON.parse(json);
  if (!isObject(args)) throw new Error(`not an object: ${json}`);
  return args;
}

/** A blocked prompt has no output to pay for. */
export const chargeable = (reply: Reply): Partial<TokenUsage> =>
  isBlocked(reply) ? { output: 0, reasoning: 0 } : {};
