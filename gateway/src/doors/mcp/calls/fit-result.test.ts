import { expect, test } from "bun:test";
import { fairShare, fitInto, jsonBytes } from "./fit-result.ts";

const values: readonly unknown[] = [
  "",
  "é😀\n\u0001".repeat(300),
  [],
  {},
  [[], {}, [[]], null, true, -0.5, 1e300],
  Array.from({ length: 400 }, (_, n) => ({ n })),
  Object.fromEntries(Array.from({ length: 400 }, (_, n) => [`member ${n}`, [n, "x".repeat(n)]])),
  {
    short: 1,
    long: "x".repeat(5_000),
    list: [["y".repeat(5_000)], 1, 2],
    last: { deep: [{ ü: "z".repeat(900) }] },
  },
];

test("what is as long as it may be stays the same value, and a byte less is less", () => {
  for (const value of values) {
    const bytes = jsonBytes(value);
    expect(fitInto(value, bytes)).toBe(value);
    if (bytes > 100) expect(jsonBytes(fitInto(value, bytes - 1))).toBeLessThan(bytes);
  }
});

test("however little room there is, what is left fits and is JSON", () => {
  for (const value of values) {
    for (let room = 48; room < 2_000; room += 13) {
      const fitted = fitInto(value, room);
      expect(jsonBytes(fitted)).toBeLessThanOrEqual(Math.max(room, 48));
      expect(JSON.parse(JSON.stringify(fitted)) as unknown).toEqual(fitted);
      expect(JSON.stringify(fitted)).not.toMatch(/\\ud[89a-f]/);
    }
  }
});

test("shares leave nobody more than all have room for, and give what the small ones leave to the others", () => {
  expect(fairShare([10, 20, 30], 60)).toBe(Infinity);
  expect(fairShare([10, 100, 100], 110)).toBe(50);
  expect(fairShare([100, 100], 1)).toBe(0);
  expect(fairShare([], 5)).toBe(Infinity);
});
