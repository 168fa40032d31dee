import { expect, test } from "bun:test";
import fc from "fast-check";
import { MarkIndex } from "./mark-index.ts";

test("finds every row that was added and not removed, however many share a mark or a place", () =>
  fc.assert(
    fc.property(
      fc.array(
        fc.record({
          kind: fc.constantFrom("add", "add", "remove"),
          mark: fc.oneof(
            fc.nat(3),
            fc.nat(2_000).map((n) => n * 256),
          ),
        }),
        { minLength: 500, maxLength: 1_500 },
      ),
      (steps) => {
        const index = new MarkIndex(0x9e3779b9);
        let rows: { mark: number; number: number }[] = [];
        for (const [at, { kind, mark }] of steps.entries()) {
          const number = at + 1;
          if (kind === "add") {
            index.add(mark, number);
            rows.push({ mark, number });
          } else {
            const row = rows.find((each) => each.mark === mark);
            if (row) index.remove(mark, row.number);
            rows = rows.filter((each) => each !== row);
          }
        }
        expect(index.size).toBe(rows.length);
        for (const { mark } of steps) {
          const numbers = rows.filter((each) => each.mark === mark).map(({ number }) => number);
          expect(new Set(index.numbersOf(mark))).toEqual(new Set(numbers));
          expect(index.has(mark)).toBe(numbers.length > 0);
        }
      },
    ),
    { numRuns: 20 },
  ));

test("is no larger for rows that were there once", () => {
  const index = new MarkIndex(0x9e3779b9);
  const markOf = (number: number): number => Bun.hash.xxHash32(`${number}`);
  for (let number = 1; number <= 100_000; number++) {
    index.add(markOf(number), number);
    if (number > 500) index.remove(markOf(number - 500), number - 500);
  }
  expect(index.size).toBe(500);
  expect(index.places).toBeLessThanOrEqual(2_048);
  expect(index.numbersOf(markOf(100_000))).toEqual([100_000]);
  expect(index.numbersOf(markOf(99_500))).toEqual([]);
});
