import { expect, test } from "bun:test";
import { readUsage } from "./responses-usage.ts";

const bucketsOf = (cached: number, written: number): readonly (number | undefined)[] => {
  const details = { cached_tokens: cached, cache_write_tokens: written };
  const usage = readUsage({ input_tokens: 10, input_tokens_details: details, output_tokens: 1 }, []);
  return [usage?.cacheRead, usage?.cacheWrite, usage?.input];
};

test("what was cached is taken out of the input, and no more of it than there is", () => {
  expect(bucketsOf(3, 2)).toEqual([3, 2, 5]);
  expect(bucketsOf(12, 0)).toEqual([10, 0, 0]);
  expect(bucketsOf(3, 12)).toEqual([3, 7, 0]);
  expect(bucketsOf(12, 12)).toEqual([10, 0, 0]);
});
