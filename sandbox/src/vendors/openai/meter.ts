// What was read and generated, as the vendor reports it and as it bills it.

import type { Billed, JsonObject } from "../../vendor.ts";

/** Tokens generated so far; reasoning is part of output. */
export interface Generated {
  readonly output: number;
  readonly reasoning: number;
}

export const nothingYet: Generated = { output: 0, reasoning: 0 };

export interface Meter {
  readonly usage: (generated: Generated) => JsonObject;
  readonly billed: (generated: Generated) => Billed;
}

export const createMeter = (promptTokens: number, cachedTokens: number): Meter => ({
  usage: ({ output, reasoning }) => ({
    prompt_tokens: promptTokens,
    completion_tokens: output,
    total_tokens: promptTokens + output,
    prompt_tokens_details: { cached_tokens: cachedTokens, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: reasoning,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  }),
  billed: (generated) => billedOf({ input: promptTokens, cached: cachedTokens }, generated),
});

/** The vendor counts cached tokens among the input. */
export const billedOf = (
  { input, cached }: { input: number; cached: number },
  { output, reasoning }: Generated,
): Billed => ({
  input_tokens: input,
  cached_tokens: cached,
  output_tokens: output,
  ...(reasoning > 0 ? { reasoning_tokens: reasoning } : {}),
});
