import { expect, test } from "bun:test";
import { readUsage } from "./read-usage.ts";

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

test("what was written to a cache for twelve hours is told apart, and no more of it than was written", () => {
  const writesOf = (lifetimes: unknown): readonly unknown[] => {
    const details = { cached_tokens: 3, cache_write_tokens: 5, cache_write_tokens_details: lifetimes };
    const usage = readUsage({ input_tokens: 10, input_tokens_details: details, output_tokens: 1 }, []);
    return [usage?.cacheWrite, usage?.cacheWrite1h, usage?.input];
  };
  expect(writesOf({ ttl_30m_tokens: 1, ttl_12h_tokens: 4 })).toEqual([1, 4, 2]);
  expect(writesOf({ ttl_30m_tokens: 5, ttl_12h_tokens: 0 })).toEqual([5, 0, 2]);
  expect(writesOf({ ttl_12h_tokens: 99 })).toEqual([0, 5, 2]);
  for (const untold of [undefined, null, {}, 7]) expect(writesOf(untold)).toEqual([5, 0, 2]);
});
