// The dialects as their callers speak them, written for tests and owing nothing to the gateway's own
// translation: a conversation in plain words is said in a dialect, and an answer is read back into plain words.

import { anthropic } from "./dialects/anthropic.ts";
import { gemini } from "./dialects/gemini.ts";
import { openai } from "./dialects/openai.ts";
import { responses } from "./dialects/responses.ts";
import type { Dialect } from "./dialects/talk.ts";

export const dialectNames = ["openai", "anthropic", "gemini"] as const;
export type DialectName = (typeof dialectNames)[number];

/** OpenAI's newer one is a dialect of callers. */
export const spokenNames = [...dialectNames, "responses"] as const;
export type SpokenName = (typeof spokenNames)[number];

export const dialects: Readonly<Record<SpokenName, Dialect>> = { openai, anthropic, gemini, responses };
