import { expect, test } from "bun:test";
import { allTokens, tokenTotals } from "./quantities.ts";
import { allTokenUnits } from "./token-units.ts";

test("a token of every kind is counted once, and in the count of the usage report that its kind is part of", () => {
  const none = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  for (const { unit, total } of allTokenUnits) {
    expect(allTokens({ [unit]: 7 })).toBe(7);
    expect(tokenTotals({ [unit]: 7 })).toEqual({ ...none, [total]: 7 });
  }
});
