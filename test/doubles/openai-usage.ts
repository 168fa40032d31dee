// How OpenAI states tokens: cached ones, read or written, are inside the prompt; lifetimes are not told apart.

import { promptOf } from "./token-usage.ts";
import type { TokenUsage, UsageDialect } from "./token-usage.ts";

const fold = ({ cacheWrite, cacheWrite1h, ...tokens }: TokenUsage): TokenUsage => ({
  ...tokens,
  cacheWrite: cacheWrite + cacheWrite1h,
  cacheWrite1h: 0,
});

/** What is read is all alike where nothing is cached, and nobody reasons. */
const withoutCache = (tokens: TokenUsage): TokenUsage => ({
  ...tokens,
  input: promptOf(tokens),
  cacheRead: 0,
  cacheWrite: 0,
  cacheWrite1h: 0,
  reasoning: 0,
});

export const chatUsage: UsageDialect = {
  fold,
  say: (tokens) => ({
    prompt_tokens: promptOf(tokens),
    completion_tokens: tokens.output,
    total_tokens: promptOf(tokens) + tokens.output,
    prompt_tokens_details: {
      cached_tokens: tokens.cacheRead,
      ...(tokens.cacheWrite > 0 && { cache_write_tokens: tokens.cacheWrite }),
      audio_tokens: 0,
    },
    completion_tokens_details: {
      reasoning_tokens: tokens.reasoning,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  }),
};

export const responsesUsage: UsageDialect = {
  fold,
  say: (tokens) => ({
    input_tokens: promptOf(tokens),
    input_tokens_details: {
      cached_tokens: tokens.cacheRead,
      ...(tokens.cacheWrite > 0 && { cache_write_tokens: tokens.cacheWrite }),
    },
    output_tokens: tokens.output,
    output_tokens_details: { reasoning_tokens: tokens.reasoning },
    total_tokens: promptOf(tokens) + tokens.output,
  }),
};

/** Embeddings know nothing but input. */
export const embeddingsUsage: UsageDialect = {
  fold: (tokens) => ({ ...withoutCache(tokens), output: 0 }),
  say: ({ input }) => ({ prompt_tokens: input, total_tokens: input }),
};

/** Images are paid by what is read and by what is drawn. */
export const imagesUsage: UsageDialect = {
  fold: withoutCache,
  say: ({ input, output }) => ({
    input_tokens: input,
    input_tokens_details: { text_tokens: input, image_tokens: 0 },
    output_tokens: output,
    total_tokens: input + output,
    output_tokens_details: { text_tokens: 0, image_tokens: output },
  }),
};
