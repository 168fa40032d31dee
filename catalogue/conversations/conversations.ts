// What the dialects of a conversation have in common: who serves them, what they may take, what they hold.

import {
  contextTokensMax,
  refuse,
  z,
  type ModelDialect,
} from "../../gateway/src/operation/define-operation.ts";
import type { CallInput } from "../../gateway/src/operation/call-input.ts";
import type { Estimate } from "../../gateway/src/operation/estimate.ts";
import type { ModelFacts } from "../../gateway/src/operation/price-contract.ts";
import { readInput, type ConversationInput } from "./body.ts";

/** Counted against tokens per minute for a caller that sets no limit of its own. */
const tokensAssumed = 1_024;
/** What an answer usually comes to, for a quote. */
const outputTokensUsual = 512;

/** What callers are told about the refusals below. */
const hostedToolsNote =
  "Tools that the vendor runs, such as a web search or an MCP server, are 400 unless the operator allows them. Members by which a router would ask another model, or write more than is held, are 400.";

/** As long as the official clients wait by themselves for a whole answer; whoever gives up sooner has it made twice. */
export const conversationTimeoutMs = 600_000;

/** What holds for a conversation whoever serves it. */
export const everyConversation = {
  bodyBytesMax: 32 * 1024 * 1024,
  firstByteTimeoutMs: conversationTimeoutMs,
  limits: { slot: "streaming" },
  notes: hostedToolsNote,
} as const;

/** Any model vendor can serve any dialect: the gateway translates where they differ. */
export const conversations = (dialect: ModelDialect) => ({
  ...everyConversation,
  servedBy: {
    openai: { exchange: "chat", path: "", dialect },
    anthropic: { exchange: "chat", path: "", dialect },
    gemini: { exchange: "chat", path: "", dialect },
  } as const,
});

export const modelMember = z.string().min(1).max(200).describe("A model of `GET /v1/models`.");

/** Several times what any model writes, so nobody's limit ends here; what is more is a slip, and no sum is held for it. */
export const tokensMax = 10_000_000;

/** How a vendor may serve a conversation for what is priced here, or for less; faster or nearer costs more than is held. */
const serviceTiers = [
  "auto",
  "default",
  "standard",
  "standard_only",
  "on_demand",
  "flex",
  "unspecified",
] as const;
const unpriced = "what costs more has no price here";

export const serviceTier = z
  .enum(serviceTiers, `expected auto, default, standard or flex; ${unpriced}`)
  .nullish();
export const speed = z.enum(["standard"], `expected standard; ${unpriced}`).nullish();
export const inferenceGeo = z.enum(["global"], `expected global; ${unpriced}`).nullish();

type ConversationBody = Pick<
  CallInput<unknown, Readonly<Record<string, unknown>>>,
  "body" | "rawBody" | "plainNames"
>;

interface AskedAnswer {
  readonly dialect: ModelDialect;
  readonly outputTokens: number;
  readonly limitedBy: string;
  /** The least that this member alone can make of the limit, where another one limits the answer, too. */
  readonly limitedToLeast?: number;
  readonly choices: number;
  /** Guessed at by the caller; what of it proves wrong is billed as if it had been written. */
  readonly predictedTokensMax?: number;
  /** Thought beside the answer, and not bounded by its limit, where the vendor counts so. */
  readonly thoughtTokensMax?: number;
}

/**
 * A token is at least one byte, so the body's length bounds its text without counting tokens; what else is read is
 * bounded by the figures below, and everything together by what the model can read.
 */
export function conversationEstimate(
  { body, rawBody, plainNames }: ConversationBody,
  model: ModelFacts,
  asked: AskedAnswer,
): Estimate {
  // What a model reads and writes is one context. More would be refused by its vendor, after all of it was held.
  if (asked.outputTokens > (model.contextTokens ?? Infinity)) {
    const message = `${asked.limitedBy}: this model cannot write more than ${model.contextTokens} tokens`;
    refuse("invalid_parameters", message, { field: asked.limitedBy });
  }
  const limit = limitSent(asked, model);
  // Google's own names have capitals, so there one in small letters may be taken for them.
  const comparesNames = plainNames !== true || asked.dialect === "gemini";
  const input = readInput(body, { comparesNames, goesByAddress: model.protocols.includes("gemini") });
  const most = inputTokensMax(input, rawBody.byteLength, model);
  const { hostedTool: field } = input;
  if (field !== undefined && !model.allowsHostedTools) {
    const message = `${field}: its vendor runs this tool, and what that may cost has no bound here`;
    refuse("invalid_parameters", message, { field });
  }
  const { recordedIn: heard, spokenBy: spoken } = input;
  if (heard !== undefined && model.dearestHeardUnit === undefined) refuseUnpriced(heard, "what it hears");
  if (spoken !== undefined && model.dearestSpokenUnit === undefined) refuseUnpriced(spoken, "what it speaks");
  const inputUnit = input.mayBeHeard
    ? (model.dearestHeardUnit ?? model.dearestInputUnit)
    : model.dearestInputUnit;
  const outputUnit = (spoken !== undefined && model.dearestSpokenUnit) || "output_tokens";
  const textBytes = rawBody.byteLength - input.mediaBytes;
  const inputTokens = Math.min(
    Math.ceil(textBytes / 4) + input.media * mediumTokensUsual,
    model.contextTokens ?? Infinity,
  );
  return {
    expected: {
      input_tokens: inputTokens,
      output_tokens: Math.min(limit, outputTokensUsual) * asked.choices,
    },
    tokens: inputTokens + (asked.outputTokens > 0 ? limit : tokensAssumed) * asked.choices,
    atMost: {
      // A vendor that sums up what was said reads all of it once more, and writes a text of its own.
      [inputUnit]: input.isSummedUp ? most * 2 : most,
      [outputUnit]:
        (limit + (asked.predictedTokensMax ?? 0) + (asked.thoughtTokensMax ?? 0)) * asked.choices +
        (input.isSummedUp ? model.unaskedOutputTokensMax : 0),
    },
    limited: {
      by: asked.limitedBy,
      unit: outputUnit,
      tokens: limit * asked.choices,
      leastTokens: Math.min(limit, asked.limitedToLeast ?? 1) * asked.choices,
    },
  };
}

/** A caller's limit passes as it is in its own dialect; where it is translated, at most what the model takes is sent. */
function limitSent({ dialect, outputTokens }: AskedAnswer, model: ModelFacts): number {
  const wanted = outputTokens > 0 ? outputTokens : model.unaskedOutputTokensMax;
  return model.protocols.includes(dialect) ? wanted : Math.min(wanted, model.outputTokensMax ?? Infinity);
}

/** Words that are heard and spoken cost several times what written ones do. */
const refuseUnpriced = (field: string, what: string): never =>
  refuse("invalid_parameters", `${field}: this model has no price here for ${what}`, { field });

/** About what an image comes to; of a file or a recording nobody knows, and a caller must not pay for a guess. */
const mediumTokensUsual = 1_000;
/** The dearest that a vendor counts for an image: eight tiles of 5,667 tokens and 2,833 around them. */
const imageTokensMax = 50_000;
/** The most that a vendor says about a tool of its own making, before anybody uses it. */
const explanationTokensMax = 2_000;
/** The most that a vendor says about tools in general as soon as there are any: 675 tokens, by what is written down. */
const toolsTokensMax = 1_000;

function inputTokensMax(
  { unbounded, mediaBytes, images, hasTools, explainedTools }: ConversationInput,
  bodyBytes: number,
  { contextTokens }: ModelFacts,
): number {
  if (unbounded) return contextTokens ?? Math.max(bodyBytes, contextTokensMax);
  const explained = (hasTools ? toolsTokensMax : 0) + explainedTools * explanationTokensMax;
  const shown = bodyBytes - mediaBytes + images * imageTokensMax + explained;
  return Math.min(shown, contextTokens ?? Infinity);
}
