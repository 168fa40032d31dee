import type { ModelDialect } from "../../platform/dialect.ts";
import { anthropicDialect } from "./anthropic/anthropic-dialect.ts";
import type { Dialect } from "./dialect.ts";
import { geminiDialect } from "./gemini/gemini-dialect.ts";
import { openaiDialect } from "./openai/openai-dialect.ts";

/** The dialects in which callers speak, by name. */
export const dialects: Readonly<Record<ModelDialect, Dialect>> = {
  openai: openaiDialect,
  anthropic: anthropicDialect,
  gemini: geminiDialect,
};
