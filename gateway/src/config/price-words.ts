import { secondWords } from "../operation/video-seconds.ts";
import type { Pico } from "../platform/money.ts";

const priceWords = {
  input: "input_tokens",
  output: "output_tokens",
  cache_read: "cache_read_tokens",
  cache_write: "cache_write_tokens",
  cache_write_1h: "cache_write_1h_tokens",
  input_audio: "input_audio_tokens",
  cache_read_audio: "cache_read_audio_tokens",
  output_audio: "output_audio_tokens",
  ...Object.fromEntries(secondWords.map((word) => [word, word])),
} as const;

/** Price words as people write them, to the units that are metered. Absent words have no price, not a price of 0. */
export function tokenPrices(written: Readonly<Record<string, Pico | undefined>>): Record<string, Pico> {
  const prices: Record<string, Pico> = {};
  for (const [word, unit] of Object.entries(priceWords)) {
    const pico = written[word];
    if (pico !== undefined) prices[unit] = pico;
  }
  return prices;
}

export const priceWordOf = (unit: string): string =>
  Object.entries(priceWords).find(([, known]) => known === unit)?.[0] ?? unit;
