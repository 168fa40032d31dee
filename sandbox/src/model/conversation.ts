// A conversation in words of no vendor. Every dialect is read into this, so that the same conversation
// has the same answer and the same count of tokens in each.

import type { JsonObject } from "../vendor.ts";

export interface Conversation {
  readonly model: string;
  readonly turns: readonly Turn[];
  readonly tools: readonly Tool[];
  /** A list of names: one of these must be called. */
  readonly toolChoice: "none" | "auto" | "required" | readonly string[];
  /** False: at most one tool is called in an answer. */
  readonly parallelCalls: boolean;
  readonly tokensMax: number;
  readonly stop: readonly string[];
  /** Undefined: plain text was asked for. An empty schema: any object will do. */
  readonly answerSchema: JsonObject | undefined;
  /** 0: the model answers without thinking first. */
  readonly thinkingTokensMax: number;
}

export interface Turn {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly blocks: readonly Block[];
  /** What the assistant called in this turn. */
  readonly calls: readonly EarlierCall[];
  /** The caller wants the prompt cached up to the end of this turn. */
  readonly cacheFor?: CacheTime;
}

export interface Block {
  readonly text: string;
  /** Where the image is, or its bytes: it counts as one, and the prompt cache tells it from others. */
  readonly image?: string;
  /** The caller wants the prompt cached up to the end of this block. */
  readonly cacheFor?: CacheTime;
}

export type CacheTime = "5m" | "1h";

interface EarlierCall {
  readonly name: string;
  readonly input: unknown;
}

export interface Tool {
  readonly name: string;
  readonly description?: string;
  readonly parameters: JsonObject;
  /** It is called with a text and not with JSON; `parameters` may tell how that is written. */
  readonly takesText?: true;
  /** The group that its name belongs to. */
  readonly namespace?: string;
  readonly cacheFor?: CacheTime;
}

export const textOf = ({ blocks }: Turn): string => blocks.map(({ text }) => text).join("\n");

export const textTurn = (role: Turn["role"], text: string): Turn => ({ role, blocks: [{ text }], calls: [] });

/** Arguments as text are read back where they can be, so that they count alike in every dialect. */
export function inputOf(text: unknown): unknown {
  if (typeof text !== "string") return text ?? {};
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
