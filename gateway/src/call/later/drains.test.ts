import { expect, test } from "bun:test";
import { createDrains } from "./drains.ts";

test("a key has so many drains and no more, until one has ended", () => {
  const drains = createDrains({ drainsMax: 10, drainsOfKeyMax: 2 });
  const first = drains.begin("a");
  expect(first).toBeDefined();
  expect(drains.begin("a")).toBeDefined();
  expect(drains.begin("a")).toBeUndefined();
  expect(drains.begin("b")).toBeDefined();
  first?.();
  expect(drains.begin("a")).toBeDefined();
  expect(drains.begin("a")).toBeUndefined();
});

test("all keys together have so many", () => {
  const drains = createDrains({ drainsMax: 3, drainsOfKeyMax: 2 });
  const ends = ["a", "a", "b"].map((key) => drains.begin(key));
  expect(ends).not.toContain(undefined);
  expect(drains.begin("c")).toBeUndefined();
  for (const end of ends) end?.();
  expect(["c", "c", "d"].map((key) => drains.begin(key))).not.toContain(undefined);
});
