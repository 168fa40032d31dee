import { expect, test } from "bun:test";
import { quantityMax } from "./quantities.ts";
import { readCount } from "./read-count.ts";

const cases: readonly (readonly [value: unknown, count: number | undefined, anomaly: string | undefined])[] =
  [
    [0, 0, undefined],
    [-0, 0, undefined],
    [1, 1, undefined],
    [quantityMax, quantityMax, undefined],
    [undefined, undefined, undefined],
    [null, undefined, undefined],
    ["12", undefined, "n is not a number"],
    [[1], undefined, "n is not a number"],
    [true, undefined, "n is not a number"],
    [NaN, undefined, "n is not a number"],
    [-1, 0, "n is negative"],
    [-Infinity, 0, "n is negative"],
    [1.5, 1, "n is fractional"],
    [0.5, 0, "n is fractional"],
    [1e30, quantityMax, "n is absurd"],
    [Infinity, quantityMax, "n is absurd"],
    [quantityMax + 0.5, quantityMax, "n is absurd"],
  ];

test.each(cases)("a usage figure of %p counts %p; noted: %p", (value, count, anomaly) => {
  const anomalies: string[] = [];
  const read = readCount(value, "n", anomalies);
  expect(read === undefined ? undefined : read + 0).toEqual(count);
  expect(anomalies).toEqual(anomaly === undefined ? [] : [anomaly]);
});
