import { edenGC, fullGC, heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import { createDeadlines, type Deadline, type Waiting } from "./deadlines.ts";

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

test.concurrent("a deadline is missed once, when its time has come and not before", async () => {
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

test.concurrent("what has ended is not missed, and what was moved is missed later", async () => {
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

test.concurrent("all can be missed at once, near and far, but for those that one of them ends", async () => {
  const { deadlines, set, pass, missed } = watched();
  set("near", 10);
  const ended = set("ended", 60_000);
  deadlines.set(10, {
    onMissed: () => {
      missed.push("ends another");
      deadlines.end(ended);
      set("set by it", 30);
    },
  });
  set("far", 60_000);
  deadlines.missAll();
  expect(missed).toEqual(["near", "ends another", "far"]);
  await pass(0);
  await pass(30);
  expect(missed).toEqual(["near", "ends another", "far", "set by it"]);
});

test.concurrent("a deadline that had ended can be set again by moving it, also after a time without any", async () => {
  const { deadlines, set, pass, missed } = watched();
  const deadline = set("again", 10);
  deadlines.end(deadline);
  await pass(50);
  deadlines.move(deadline, 10);
  await pass(0);
  await pass(10);
  expect(missed).toEqual(["again"]);
});

test.concurrent("a time begins with the first look at it, so that nobody has less than the time given", async () => {
  const { set, pass, missed } = watched();
  set("given", 10);
  await pass(10);
  expect(missed).toEqual([]);
  await pass(10);
  expect(missed).toEqual(["given"]);
});

test.concurrent("a deadline moved from far away to near, or back, is missed when its last time has come", async () => {
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

test.concurrent("who is told may end or move others that were missed at the same look, and set itself again", async () => {
  const { deadlines, pass, missed } = watched();
  const first = deadlines.set(10, {
    onMissed: () => {
      missed.push("first");
      deadlines.end(ended);
      deadlines.move(moved, 30);
      deadlines.move(first, 10);
    },
  });
  const ended = deadlines.set(10, { onMissed: () => void missed.push("ended") });
  const moved = deadlines.set(10, { onMissed: () => void missed.push("moved") });
  await pass(0);
  await pass(10);
  expect(missed).toEqual(["first"]);
  await pass(9);
  expect(missed).toEqual(["first"]);
  await pass(1);
  expect(missed).toEqual(["first", "first"]);
  await pass(10);
  expect(missed).toEqual(["first", "first", "first"]);
});

test.concurrent("of many that come and go each is ended by itself, and the others stay", async () => {
  const { deadlines, set, pass, missed } = watched();
  const all = Array.from({ length: 50 }, (_, number) => set(`${number}`, 10));
  for (const [number, deadline] of all.entries()) if (number % 3 !== 0) deadlines.end(deadline);
  await pass(0);
  await pass(10);
  const left = all.map((_, number) => `${number}`).filter((name) => Number(name) % 3 === 0);
  expect(missed.toSorted()).toEqual(left.toSorted());
});

test("the collector lets go of those that have ended, without looking at everything", () => {
  const { deadlines } = watched();
  // The collector's own figures know kinds of things by the language's names; nothing else here makes dates.
  const waiting = (): Waiting & { readonly since: Date } => ({ since: new Date(), onMissed: () => {} });
  const open: Deadline[] = [];
  const come = (count: number): void => {
    for (let number = 0; number < count; number++) {
      open.push(deadlines.set(60_000, waiting()));
      const oldest = open.length > 64 ? open.shift() : undefined;
      if (oldest) deadlines.end(oldest);
    }
  };
  come(100);
  // Everything that is here now is old from now on.
  fullGC();
  come(2_000);
  edenGC();
  expect(heapStats().objectTypeCounts["Date"]).toBeLessThan(300);
});
