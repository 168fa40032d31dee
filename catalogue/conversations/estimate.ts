// The most that a conversation can use, and what it usually uses. A token is at least one byte, so the length of the body
// bounds its text without counting tokens. The figures below bound what else is read, and the model's context bounds it all.

import {
  contextTokensMax,
  refuse,
  type CallInput,
  type Estimate,
  type ModelDialect,
  type ModelFacts,
} from "../../gateway/src/for-catalogues.ts";
import { readBody } from "./body.ts";
import type { Findings, HostedTool } from "./findings.ts";

type ConversationInput = Pick<
  CallInput<unknown, Readonly<Record<string, unknown>>>,
  "body" | "rawBody" | "plainNames"
>;

/** The answer that a caller asks for, as each dialect reads it from its own members. */
interface AskedAnswer {
  readonly dialect: ModelDialect;
  /** The caller's limit; 0 where it sets none. */
  readonly outputTokens: number;
  /** The member that has the limit, as the caller spells it. */
  readonly limitedBy: string;
  /** The least that this member alone can make of the limit, where another one limits the answer, too. */
  readonly limitedToLeast?: number;
  readonly choices: number;
  /** The caller's guess at the answer. Whatever of it proves wrong is billed as if it had been written. */
  readonly predictedTokensMax?: number;
  /** Thought beside the answer, where the vendor's limit does not bound it. */
  readonly thoughtTokensMax?: number;
}

/** Refuses what has no price or no bound here. */
export function estimateConversation(
  { body, rawBody, plainNames }: ConversationInput,
  model: ModelFacts,
  asked: AskedAnswer,
): Estimate {
  checkLimit(asked, model);
  const found = readBody(body, {
    // Google's own names have capitals, so one in small letters may be taken for them there.
    comparesNames: plainNames !== true || asked.dialect === "gemini",
    goesByAddress: model.protocols.includes("gemini"),
  });
  checkFindings(found, model);
  return estimateOf(found, rawBody.byteLength, model, asked);
}

/** What a model reads and writes is one context. Its vendor would refuse a larger limit, after all of it was held. */
function checkLimit({ outputTokens, limitedBy }: AskedAnswer, { contextTokens }: ModelFacts): void {
  if (outputTokens > (contextTokens ?? Infinity)) {
    refuseMember(limitedBy, `this model cannot write more than ${contextTokens} tokens`);
  }
}

function checkFindings({ hostedTool, recordedIn, spokenBy }: Findings, model: ModelFacts): void {
  if (hostedTool !== undefined && !model.allowsHostedTools) {
    refuseHosted(hostedTool);
  }
  // Words that are heard and spoken cost several times what written ones do.
  if (recordedIn !== undefined && model.dearestHeardUnit === undefined) {
    refuseMember(recordedIn, "this model has no price here for what it hears");
  }
  if (spokenBy !== undefined && model.dearestSpokenUnit === undefined) {
    refuseMember(spokenBy, "this model has no price here for what it speaks");
  }
}

/** Programs bring such tools unasked, so whoever reads this has to learn which one to switch off. */
function refuseHosted({ field, type }: HostedTool): never {
  const tool = type !== undefined && /^\w{1,64}$/.test(type) ? type : "this tool";
  const why = `its vendor runs ${tool}, and what that may cost has no bound here`;
  return refuseMember(field, `${why}; leave it out or switch it off`);
}

const refuseMember = (field: string, why: string): never =>
  refuse("invalid_parameters", `${field}: ${why}`, { field });

/** Counted against tokens per minute for a caller that sets no limit of its own. */
const tokensAssumed = 1_024;
/** What an answer usually comes to, for a quote. */
const outputTokensUsual = 512;

function estimateOf(found: Findings, bodyBytes: number, model: ModelFacts, asked: AskedAnswer): Estimate {
  const limit = limitSent(asked, model);
  const inputTokens = inputTokensUsual(found, bodyBytes, model);
  const outputUnit = outputUnitOf(found, model);
  return {
    expected: {
      input_tokens: inputTokens,
      output_tokens: Math.min(limit, outputTokensUsual) * asked.choices,
    },
    tokens: inputTokens + (asked.outputTokens > 0 ? limit : tokensAssumed) * asked.choices,
    atMost: {
      [inputUnitOf(found, model)]: inputTokensMax(found, bodyBytes, model),
      [outputUnit]: outputTokensMax(found, limit, model, asked),
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

function inputUnitOf({ mayBeHeard }: Findings, { dearestInputUnit, dearestHeardUnit }: ModelFacts): string {
  return mayBeHeard ? (dearestHeardUnit ?? dearestInputUnit) : dearestInputUnit;
}

function outputUnitOf({ spokenBy }: Findings, { dearestSpokenUnit }: ModelFacts): string {
  return (spokenBy !== undefined && dearestSpokenUnit) || "output_tokens";
}

/** About what an image comes to. A file or a recording may be any length, but a caller must not pay for a guess. */
const mediumTokensUsual = 1_000;

function inputTokensUsual(
  { media, mediaBytes }: Findings,
  bodyBytes: number,
  { contextTokens }: ModelFacts,
): number {
  const textTokens = Math.ceil((bodyBytes - mediaBytes) / 4);
  return Math.min(textTokens + media * mediumTokensUsual, contextTokens ?? Infinity);
}

/** The dearest that a vendor counts for an image: eight tiles of 5,667 tokens and 2,833 around them. */
const imageTokensMax = 50_000;
/** The most that a vendor says about a tool of its own making, before anybody uses it. */
const explanationTokensMax = 2_000;
/** The most that a vendor says about tools in general as soon as there are any: 675 tokens, by what is written down. */
const toolsTokensMax = 1_000;

/** A vendor that sums up what was said reads all of it once more. */
function inputTokensMax(found: Findings, bodyBytes: number, model: ModelFacts): number {
  const once = inputTokensReadOnce(found, bodyBytes, model);
  return found.isSummedUp ? once * 2 : once;
}

function inputTokensReadOnce(
  { unbounded, mediaBytes, images, hasTools, explainedTools }: Findings,
  bodyBytes: number,
  { contextTokens }: ModelFacts,
): number {
  if (unbounded) return contextTokens ?? Math.max(bodyBytes, contextTokensMax);
  const explained = (hasTools ? toolsTokensMax : 0) + explainedTools * explanationTokensMax;
  const shown = bodyBytes - mediaBytes + images * imageTokensMax + explained;
  return Math.min(shown, contextTokens ?? Infinity);
}

/** Guesses and thoughts are billed beside each answer. A summary is one more text, which the caller's limit does not bound. */
function outputTokensMax(found: Findings, limit: number, model: ModelFacts, asked: AskedAnswer): number {
  const { choices, predictedTokensMax = 0, thoughtTokensMax = 0 } = asked;
  const answers = (limit + predictedTokensMax + thoughtTokensMax) * choices;
  return found.isSummedUp ? answers + model.unaskedOutputTokensMax : answers;
}
