import type { CallersDialect, ModelDialect } from "../../platform/dialect.ts";
import { anthropicDialect } from "./anthropic/anthropic-dialect.ts";
import type { Dialect, SpokenDialect } from "./dialect.ts";
import { geminiDialect } from "./gemini/gemini-dialect.ts";
import { openaiDialect } from "./openai/openai-dialect.ts";
import { responsesDialect } from "./responses/responses-dialect.ts";

/** The dialects in which vendors speak, by name. */
export const dialects: Readonly<Record<ModelDialect, Dialect>> = {
  openai: openaiDialect,
  anthropic: anthropicDialect,
  gemini: geminiDialect,
};

/** The dialects in which callers speak. */
export const spokenDialects: Readonly<Record<CallersDialect, SpokenDialect>> = {
  ...dialects,
  responses: responsesDialect,
};
