import { secondWords } from "../operation/video-seconds.ts";
import type { Pico } from "../platform/money.ts";
import { tokenUnits } from "../prices/token-units.ts";

/** Each word and its unit. */
const priceWords: readonly (readonly [word: string, unit: string])[] = [
  ...Object.entries(tokenUnits).map(([word, { unit }]) => [word, unit] as const),
  ...secondWords.map((word) => [word, word] as const),
];

/** Price words as people write them, to the units that are metered. Absent words have no price, not a price of 0. */
export function tokenPrices(written: Readonly<Record<string, Pico | undefined>>): Record<string, Pico> {
  const prices: Record<string, Pico> = {};
  for (const [word, unit] of priceWords) {
    const pico = written[word];
    if (pico !== undefined) prices[unit] = pico;
  }
  return prices;
}

export const priceWordOf = (unit: string): string =>
  priceWords.find(([, known]) => known === unit)?.[0] ?? unit;
