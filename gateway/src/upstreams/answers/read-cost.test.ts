// What vendors say that a call cost, read to the micro without a float's error.

import { describe, expect, test } from "bun:test";
import { readCostMicros } from "./read-cost.ts";

describe("a cost", () => {
  const usd = (amount: unknown, anomalies: string[] = []) =>
    readCostMicros({ amount, microsEach: 1_000_000n }, anomalies);

  test.each([
    [0, 0],
    [0.000001, 1],
    [1e-7, 1],
    [1.5e-6, 2],
    [0.1 + 0.2, 300_000],
    [0.0051200000000000004, 5_120],
    ["0.0123", 12_300],
    [1234567.000001, 1_234_567_000_001],
    [1e21, 1_000_000_000_000],
  ])("of %p USD is %p micro-USD", (amount, micros) => {
    expect(usd(amount)).toBe(Math.min(micros, 1_000_000_000_000));
  });

  test.each([[undefined], [null]])("that is %p is none", (amount) => {
    const anomalies: string[] = [];
    expect([usd(amount, anomalies), anomalies]).toEqual([undefined, []]);
  });

  test.each([[Number.NaN], [Infinity], ["much"], [{}], [true], [""]])(
    "that is %p is none, and named",
    (amount) => {
      const anomalies: string[] = [];
      expect([usd(amount, anomalies), anomalies.length]).toEqual([undefined, 1]);
    },
  );

  test("below zero is 0, and named", () => {
    const anomalies: string[] = [];
    expect([usd(-0.5, anomalies), anomalies]).toEqual([0, ["the cost is negative"]]);
  });

  test("in credits is counted by what one of them costs", () => {
    expect(readCostMicros({ amount: 2, microsEach: 8_000n }, [])).toBe(16_000);
    expect(readCostMicros({ amount: 1.5, microsEach: 8_000n }, [])).toBe(12_000);
  });
});
