// The most tokens that a conversation can use, and how many it usually uses. A token is at least one byte, so the length of
// the body bounds its text without counting tokens. The figures below bound the rest, and the model's context bounds it all.

import {
  contextTokensMax,
  guessTokens,
  refuse,
  type CallersDialect,
  type CallInput,
  type Estimate,
  type ModelFacts,
} from "../../gateway/src/for-catalogues.ts";
import { readBody } from "./body.ts";
import type { Findings, HostedTool } from "./findings.ts";

type ConversationInput = Pick<
  CallInput<unknown, Readonly<Record<string, unknown>>>,
  "body" | "rawBody" | "plainNames"
>;

/** How long an answer the caller asks for, as each dialect reads it from its own members. */
interface AskedAnswer {
  readonly dialect: CallersDialect;
  /** The caller's limit; 0 where it sets none. */
  readonly outputTokens: number;
  /** The member that has the limit, as the caller spells it. */
  readonly limitedBy: string;
  /** How far this member alone can lower the limit, where another member limits the answer too. */
  readonly limitedToLeast?: number;
  readonly choices: number;
  /** The caller's guess at the answer. Whatever of it proves wrong is billed as if it had been written. */
  readonly predictedTokensMax?: number;
  /** What the model may think before its answer, where the vendor's limit does not bound that. */
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
    // Google's own names have capitals, so Google may take a name in small letters for one of them.
    comparesNames: plainNames !== true || asked.dialect === "gemini",
    goesByAddress: model.protocols.includes("gemini"),
    mayBeTranslated: !model.dialectsAt.every((dialects) => dialects.includes(asked.dialect)),
    mayBeNative: isSpokenBy(model, asked.dialect),
  });
  checkFindings(found, model);
  return estimateOf(found, rawBody.byteLength, model, asked);
}

/** A context holds what a model reads and what it writes. The vendor would refuse a larger limit, but only after the hold. */
function checkLimit({ outputTokens, limitedBy }: AskedAnswer, { contextTokens }: ModelFacts): void {
  if (outputTokens > (contextTokens ?? Infinity)) {
    refuseMember(limitedBy, `this model cannot write more than ${contextTokens} tokens`);
  }
}

function checkFindings({ hostedTool, recordedIn, spokenBy }: Findings, model: ModelFacts): void {
  if (hostedTool !== undefined && !model.allowsHostedTools) {
    refuseHosted(hostedTool);
  }
  // Spoken words cost several times as much as written ones, heard or said.
  if (recordedIn !== undefined && model.dearestHeardUnit === undefined) {
    refuseMember(recordedIn, "this model has no price here for audio that it hears");
  }
  if (spokenBy !== undefined && model.dearestSpokenUnit === undefined) {
    refuseMember(spokenBy, "this model has no price here for audio that it speaks");
  }
}

/** Programs add such tools by themselves, so the message has to say which one to switch off. */
function refuseHosted({ field, type }: HostedTool): never {
  const tool = type !== undefined && /^\w{1,64}$/.test(type) ? type : "this tool";
  const why = `its vendor runs ${tool}, and nothing here bounds what that may cost`;
  return refuseMember(field, `${why}; leave it out or switch it off`);
}

const refuseMember = (field: string, why: string): never =>
  refuse("invalid_parameters", `${field}: ${why}`, { field });

/** The length of an answer that is counted against the limit on tokens per minute, for a caller who sets no limit. */
const tokensAssumed = 1_024;
/** The usual length of an answer, for a quote. */
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

/** In its own dialect the caller's limit is sent as it is. Where all translate it, no more is sent than the model takes. */
function limitSent({ dialect, outputTokens }: AskedAnswer, model: ModelFacts): number {
  const wanted = outputTokens > 0 ? outputTokens : model.unaskedOutputTokensMax;
  return isSpokenBy(model, dialect) ? wanted : Math.min(wanted, model.outputTokensMax ?? Infinity);
}

const isSpokenBy = ({ dialectsAt }: ModelFacts, dialect: CallersDialect): boolean =>
  dialectsAt.some((dialects) => dialects.includes(dialect));

function inputUnitOf({ mayBeHeard }: Findings, { dearestInputUnit, dearestHeardUnit }: ModelFacts): string {
  return mayBeHeard ? (dearestHeardUnit ?? dearestInputUnit) : dearestInputUnit;
}

function outputUnitOf({ spokenBy }: Findings, { dearestSpokenUnit }: ModelFacts): string {
  return (spokenBy !== undefined && dearestSpokenUnit) || "output_tokens";
}

/** About what an image takes. Files and recordings can be of any length, but nobody should be quoted a wild guess. */
const mediumTokensUsual = 1_000;

function inputTokensUsual(
  { media, mediaBytes }: Findings,
  bodyBytes: number,
  { contextTokens }: ModelFacts,
): number {
  const textTokens = guessTokens(bodyBytes - mediaBytes);
  return Math.min(textTokens + media * mediumTokensUsual, contextTokens ?? Infinity);
}

/** The most that any vendor counts for an image: eight tiles of 5,667 tokens, and 2,833 beside them. */
const imageTokensMax = 50_000;
/** The most that a vendor tells the model about a tool of its own making. */
const explanationTokensMax = 2_000;
/** The schema of one argument, with which a tool of free text is translated, or as long a name as any vendor takes. */
const rewordingTokensMax = 150;
/** The most that a vendor tells the model about tools in general, once there are any: 675 tokens are documented. */
const toolsTokensMax = 1_000;

/** A vendor that sums the conversation up first reads it twice. */
function inputTokensMax(found: Findings, bodyBytes: number, model: ModelFacts): number {
  const once = inputTokensReadOnce(found, bodyBytes, model);
  return found.isSummedUp ? once * 2 : once;
}

function inputTokensReadOnce(
  { unbounded, mediaBytes, images, hasTools, explainedTools, rewordedTools }: Findings,
  bodyBytes: number,
  { contextTokens }: ModelFacts,
): number {
  if (unbounded) return contextTokens ?? Math.max(bodyBytes, contextTokensMax);
  const explained =
    (hasTools ? toolsTokensMax : 0) +
    explainedTools * explanationTokensMax +
    rewordedTools * rewordingTokensMax;
  const shown = bodyBytes - mediaBytes + images * imageTokensMax + explained;
  return Math.min(shown, contextTokens ?? Infinity);
}

/** Guesses and thoughts are billed beside each answer. A summary is one more text, which no limit of the caller's bounds. */
function outputTokensMax(found: Findings, limit: number, model: ModelFacts, asked: AskedAnswer): number {
  const { choices, predictedTokensMax = 0, thoughtTokensMax = 0 } = asked;
  const answers = (limit + predictedTokensMax + thoughtTokensMax) * choices;
  return found.isSummedUp ? answers + model.unaskedOutputTokensMax : answers;
}
