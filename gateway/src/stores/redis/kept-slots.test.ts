import { expect, test } from "bun:test";
import { createKeptSlots } from "./kept-slots.ts";
import { rate, slot } from "./test-wants.ts";

test("a slot is kept until it is dropped, and never for longer than its lease", () => {
  let nowMs = 0;
  const slots = createKeptSlots(() => nowMs);
  slots.keep([rate(10), slot("a")]);
  nowMs += 1_000;
  slots.keep([slot("b"), slot("c")]);
  expect(slots.drop("s", "b")).toBe(true);
  expect(slots.drop("s", "b")).toBe(false);
  slots.dropEnded();
  expect([...slots.inParts(10)]).toEqual([
    [
      { kind: "slot", name: "s", holder: "a", leftMs: 3_599_000 },
      { kind: "slot", name: "s", holder: "c", leftMs: 3_600_000 },
    ],
  ]);
  nowMs = 3_600_000;
  slots.dropEnded();
  expect([...slots.inParts(10)].flat().map(({ holder }) => holder)).toEqual(["c"]);
});

test("what is dropped between two parts is in none that follows", () => {
  const slots = createKeptSlots(() => 0);
  slots.keep(["a", "b", "c", "d"].map((holder) => slot(holder)));
  const parts: string[] = [];
  for (const part of slots.inParts(2)) {
    parts.push(part.map(({ holder }) => holder).join(""));
    slots.drop("s", "c");
  }
  expect(parts).toEqual(["ab", "d"]);
});
