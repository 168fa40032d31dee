// What the three dialects of a conversation have in common: who serves them, what they may take, what they hold.

import type { Estimate, ModelFacts } from "../gateway/src/operation/operation.ts";

type Dialect = "openai" | "anthropic" | "gemini";

/** Counted against tokens per minute for a caller that sets no limit of its own. */
const tokensAssumed = 1_024;
/** What an answer usually comes to, for a quote. */
const outputTokensUsual = 512;

/** Any model vendor can serve any dialect: the gateway translates where they differ. */
export const conversations = (dialect: Dialect) => ({
  bodyBytesMax: 32 * 1024 * 1024,
  firstByteTimeoutMs: 120_000,
  limits: { slot: "streaming" } as const,
  servedBy: {
    openai: { exchange: "chat", path: "", dialect },
    anthropic: { exchange: "chat", path: "", dialect },
    gemini: { exchange: "chat", path: "", dialect },
  } as const,
});

/** A token is at least one byte, so the body's length bounds the input without counting tokens. */
export function conversationEstimate(
  rawBody: Uint8Array,
  model: ModelFacts,
  asked: { readonly outputTokens: number; readonly choices: number },
): Estimate {
  const limit = asked.outputTokens > 0 ? asked.outputTokens : model.maxOutputTokens;
  const inputTokens = Math.ceil(rawBody.byteLength / 4);
  return {
    expected: {
      input_tokens: inputTokens,
      output_tokens: Math.min(limit, outputTokensUsual) * asked.choices,
    },
    tokens: inputTokens + (asked.outputTokens > 0 ? asked.outputTokens : tokensAssumed) * asked.choices,
    atMost: { [model.dearestInputUnit]: rawBody.byteLength, output_tokens: limit * asked.choices },
  };
}
