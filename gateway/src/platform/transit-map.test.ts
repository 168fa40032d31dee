import { edenGC, fullGC, heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import fc from "fast-check";
import { TransitMap } from "./transit-map.ts";

const step = fc.record({
  // Few names, some of them alike at their ends, so that they meet.
  key: fc.constantFrom("a", "b", "", "one-00000000", "two-00000000", "three-00000000"),
  value: fc.option(fc.integer(), { nil: undefined }),
});

test("whatever comes and leaves, it holds what a Map holds", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const map = new TransitMap<number>();
      const model = new Map<string, number>();
      for (const { key, value } of steps) {
        if (value === undefined) {
          map.delete(key);
          model.delete(key);
        } else {
          map.set(key, value);
          model.set(key, value);
        }
        expect(map.size).toBe(model.size);
        expect(map.get(key)).toBe(model.get(key));
        expect(map.has(key)).toBe(model.has(key));
      }
      expect(new Map(map.entries())).toEqual(model);
    }),
  );
});

test("it grows with what it holds, and a cleared one is empty", () => {
  const map = new TransitMap<number>();
  for (let number = 0; number < 5_000; number++) map.set(`call-${number}`, number);
  for (let number = 0; number < 5_000; number++) expect(map.get(`call-${number}`)).toBe(number);
  expect([...map.entries()]).toHaveLength(5_000);
  map.clear();
  expect([map.size, map.get("call-1"), [...map.entries()].length]).toEqual([0, undefined, 0]);
});

test("the collector lets go of what has left, without looking at everything", () => {
  // The collector's own figures know kinds of things by the language's names; nothing else here makes dates.
  const map = new TransitMap<Date>();
  let arrived = 0;
  const pass = (count: number): void => {
    for (const last = arrived + count; arrived < last; arrived++) {
      map.set(`${arrived}`, new Date(arrived));
      map.delete(`${arrived - 64}`);
    }
  };
  pass(100);
  // Everything that is here now is old from now on.
  fullGC();
  pass(2_000);
  edenGC();
  expect(heapStats().objectTypeCounts["Date"]).toBeLessThan(300);
});
