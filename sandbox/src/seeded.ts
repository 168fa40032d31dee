// Plausible figures out of a text: the same seed always gives the same sequence.

export interface Seeded {
  /** 0 ≤ fraction < 1 */
  readonly fraction: () => number;
  /** Both ends included. */
  readonly integer: (range: { from: number; to: number }) => number;
  readonly decimal: (range: { from: number; to: number; places: number }) => number;
  readonly pick: <T>(choices: readonly [T, ...T[]]) => T;
  /** A decimal id as text: ids of this length do not fit a JavaScript number. */
  readonly digits: (length: number) => string;
}

export function createSeeded(seed: string): Seeded {
  let state = hash32(seed);

  // mulberry32: small, well spread, and the same on every platform.
  const fraction = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const integer = ({ from, to }: { from: number; to: number }): number =>
    from + Math.floor(fraction() * (to - from + 1));

  return {
    fraction,
    integer,
    decimal: ({ from, to, places }) => Number((from + fraction() * (to - from)).toFixed(places)),
    pick: (choices) => choices[integer({ from: 0, to: choices.length - 1 })] ?? choices[0],
    digits: (length) =>
      Array.from({ length }, (_, place) => integer({ from: place === 0 ? 1 : 0, to: 9 })).join(""),
  };
}

/** Short, stable and not secret: good for ids that need not be unguessable. */
export const fingerprint = (text: string): string =>
  new Bun.CryptoHasher("sha256").update(text).digest("hex").slice(0, 32);

/** FNV-1a over UTF-16 units. */
function hash32(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash | 0;
}
