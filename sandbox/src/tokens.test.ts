import { expect, test } from "bun:test";
import fc from "fast-check";
import { countTokens, cutToTokens } from "./tokens.ts";

const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

test("a text that is not empty has at least one token and never more than bytes", () => {
  expect(countTokens("")).toBe(0);
  for (const unit of ["grapheme", "binary", "binary-ascii"] as const) {
    fc.assert(
      fc.property(fc.string({ unit, minLength: 1, maxLength: 200 }), (text) => {
        const tokens = countTokens(text);
        return tokens >= 1 && tokens <= bytesOf(text);
      }),
    );
  }
  for (const text of [" ", "\n", "\ud800", "👩‍👩‍👧", "東京", "a\u0301".repeat(50), "x".repeat(1000)]) {
    expect(countTokens(text)).toBeGreaterThanOrEqual(1);
    expect(countTokens(text)).toBeLessThanOrEqual(bytesOf(text));
  }
});

test("counts as one would by hand", () => {
  expect(countTokens("The cat sat.")).toBe(4);
  expect(countTokens("internationalisation")).toBe(4);
  expect(countTokens("1234567")).toBe(3);
  expect(countTokens("東京タワー")).toBe(5);
});

test("a cut text is a beginning of the whole and within its limit", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: "grapheme", maxLength: 200 }),
      fc.integer({ min: 1, max: 50 }),
      (text, tokensMax) => {
        const { text: kept, cut } = cutToTokens(text, tokensMax);
        return text.startsWith(kept) && countTokens(kept) <= tokensMax && cut === kept.length < text.length;
      },
    ),
  );
});
