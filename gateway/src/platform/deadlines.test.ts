import { expect, test } from "bun:test";
import { createDeadlines } from "./deadlines.ts";

/** Longer than it takes to notice that a deadline was missed, be it near or far. */
const aWhile = (): Promise<void> => Bun.sleep(350);

function watched() {
  let nowMs = 0;
  const missed: string[] = [];
  const deadlines = createDeadlines(() => nowMs);
  return {
    deadlines,
    missed,
    set: (name: string, afterMs: number) =>
      deadlines.set(afterMs, { onMissed: () => void missed.push(name) }),
    pass: async (ms: number) => {
      nowMs += ms;
      await aWhile();
    },
  };
}

test("a deadline is missed once, when its time has come and not before", async () => {
  const { set, pass, missed } = watched();
  set("soon", 10);
  set("later", 30);
  await pass(0);
  await pass(9);
  expect(missed).toEqual([]);
  await pass(1);
  expect(missed).toEqual(["soon"]);
  await pass(100);
  expect(missed).toEqual(["soon", "later"]);
  await pass(100);
  expect(missed).toEqual(["soon", "later"]);
});

test("what has ended is not missed, and what was moved is missed later", async () => {
  const { deadlines, set, pass, missed } = watched();
  const ended = set("ended", 10);
  const moved = set("moved", 10);
  deadlines.end(ended);
  await pass(5);
  deadlines.move(moved, 30);
  await pass(0);
  await pass(20);
  expect(missed).toEqual([]);
  await pass(10);
  expect(missed).toEqual(["moved"]);
});

test("a deadline that had ended can be set again by moving it, also after a time without any", async () => {
  const { deadlines, set, pass, missed } = watched();
  const deadline = set("again", 10);
  deadlines.end(deadline);
  await pass(50);
  deadlines.move(deadline, 10);
  await pass(0);
  await pass(10);
  expect(missed).toEqual(["again"]);
});

test("a time begins with the first look at it, so that nobody has less than the time given", async () => {
  const { set, pass, missed } = watched();
  set("given", 10);
  await pass(10);
  expect(missed).toEqual([]);
  await pass(10);
  expect(missed).toEqual(["given"]);
});

test("a deadline moved from far away to near, or back, is missed when its last time has come", async () => {
  const { deadlines, set, pass, missed } = watched();
  const nearer = set("nearer", 60_000);
  const farther = set("farther", 10);
  deadlines.move(nearer, 10);
  deadlines.move(farther, 60_000);
  await pass(0);
  await pass(10);
  expect(missed).toEqual(["nearer"]);
  await pass(60_000);
  expect(missed).toEqual(["nearer", "farther"]);
});
