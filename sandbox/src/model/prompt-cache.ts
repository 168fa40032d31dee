// A prompt cache that works unasked: a beginning that was seen before is reported as cached, from 1,024 tokens
// on, in steps of 128. Only fingerprints are kept.

import { pieces } from "../tokens.ts";

export interface PromptCache {
  /** How many tokens of this prompt's beginning this model saw before; remembers the prompt. */
  readonly recall: (prompt: { model: string; text: string }) => number;
}

const firstStepTokens = 1024;
const stepTokens = 128;
// Beginnings of up to 128k tokens; and, in memory, some tens of such prompts or thousands of short ones.
const stepsMax = 1000;
const rememberedMax = 50_000;

export function createPromptCache(): PromptCache {
  const seen = new Set<bigint>();

  const remember = (fingerprint: bigint): void => {
    seen.delete(fingerprint);
    seen.add(fingerprint);
    const [oldest] = seen;
    if (seen.size > rememberedMax && oldest !== undefined) seen.delete(oldest);
  };

  return {
    recall({ model, text }) {
      let cached = 0;
      for (const { tokens, fingerprint } of stepsOf(text, BigInt(Bun.hash(model)))) {
        if (seen.has(fingerprint)) cached = tokens;
        remember(fingerprint);
      }
      return cached;
    },
  };
}

/** Each fingerprint includes the one before it, so it stands for everything up to its place. */
function stepsOf(prompt: string, seed: bigint): { tokens: number; fingerprint: bigint }[] {
  const steps: { tokens: number; fingerprint: bigint }[] = [];
  let fingerprint = seed;
  let tokens = 0;
  let next = firstStepTokens;
  let since = "";

  for (const piece of pieces(prompt)) {
    since += piece.text;
    tokens += piece.tokens;
    if (tokens < next) continue;
    fingerprint = BigInt(Bun.hash(since, fingerprint));
    since = "";
    steps.push({ tokens: next, fingerprint });
    next += stepTokens;
    if (steps.length === stepsMax) break;
  }
  return steps;
}
