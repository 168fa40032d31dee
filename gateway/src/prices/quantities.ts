// What was used, counted by unit. Token units are disjoint: a cached token is never also an input token, nor one that was
// heard one that was read.

/** Whole, non-negative amounts by unit; a unit that is absent counts 0. */
export type Quantities = Readonly<Record<string, number>>;

/** No single call uses more than this of anything; a larger figure is an error of the upstream. */
export const quantityMax = 1_000_000_000_000;

/** No model on sale reads more tokens: for one of which nobody wrote down how much it reads. */
export const contextTokensMax = 2_000_000;

/** The four token counts of the usage report. */
export interface TokenTotals {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

/** Asked of every call, so each unit is written out here, and not looked up in the table of them. */
export const allTokens = (used: Quantities): number =>
  (used["input_tokens"] ?? 0) +
  (used["output_tokens"] ?? 0) +
  (used["cache_read_tokens"] ?? 0) +
  (used["cache_write_tokens"] ?? 0) +
  (used["cache_write_1h_tokens"] ?? 0) +
  (used["input_audio_tokens"] ?? 0) +
  (used["output_audio_tokens"] ?? 0) +
  (used["cache_read_audio_tokens"] ?? 0);

export const tokenTotals = (used: Quantities): TokenTotals => ({
  input: (used["input_tokens"] ?? 0) + (used["input_audio_tokens"] ?? 0),
  output: (used["output_tokens"] ?? 0) + (used["output_audio_tokens"] ?? 0),
  cacheRead: (used["cache_read_tokens"] ?? 0) + (used["cache_read_audio_tokens"] ?? 0),
  cacheWrite: (used["cache_write_tokens"] ?? 0) + (used["cache_write_1h_tokens"] ?? 0),
});
