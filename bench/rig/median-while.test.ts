import { expect, test } from "bun:test";
import { medianWhile } from "./median-while.ts";

test("a figure that jumps at one look is what it is at most of them", async () => {
  const figures = [10, 90, 11, 10];
  let looks = 0;
  const seen = await medianWhile(
    async () => {
      while (looks < figures.length) await Bun.sleep(20);
    },
    () => figures[looks++] ?? 0,
  );
  expect(seen).toBe(10.5);
});

test("work that fails ends the looks", async () => {
  let looks = 0;
  const failure = await medianWhile(
    () => Promise.reject(new Error("no answer")),
    () => looks++,
  ).catch((error: unknown) => error);
  expect(failure).toEqual(new Error("no answer"));
  await Bun.sleep(500);
  expect(looks).toBe(1);
});
