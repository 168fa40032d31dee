import type { TokenTotals } from "./quantities.ts";

interface TokenUnit {
  /** What is metered and booked. */
  readonly unit: `${string}_tokens`;
  /** The count of the usage report that it is part of. */
  readonly total: keyof TokenTotals;
  /**
   * What is heard and spoken costs more than what is read and written. Without a price for it, it is not sold; what comes
   * nevertheless is sold as this.
   */
  readonly soldAs?: `${string}_tokens`;
}

/** Every kind of token that can have a price of its own, by the word in which people write that price. */
export const tokenUnits = {
  input: { unit: "input_tokens", total: "input" },
  output: { unit: "output_tokens", total: "output" },
  cache_read: { unit: "cache_read_tokens", total: "cacheRead" },
  cache_write: { unit: "cache_write_tokens", total: "cacheWrite" },
  cache_write_1h: { unit: "cache_write_1h_tokens", total: "cacheWrite" },
  input_audio: { unit: "input_audio_tokens", total: "input", soldAs: "input_tokens" },
  cache_read_audio: { unit: "cache_read_audio_tokens", total: "cacheRead", soldAs: "cache_read_tokens" },
  output_audio: { unit: "output_audio_tokens", total: "output", soldAs: "output_tokens" },
} as const satisfies Record<string, TokenUnit>;

export type TokenWord = keyof typeof tokenUnits;

/** The same as a list, for whoever looks for units and not for words. */
export const allTokenUnits: readonly TokenUnit[] = Object.values(tokenUnits);
