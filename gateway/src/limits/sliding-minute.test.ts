import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { worstMinute } from "./limiter-conformance.ts";
import { createSlidingMinute } from "./sliding-minute.ts";

const minuteMs = 60_000;

interface Run {
  /** Moments at which a request was let through. */
  readonly admittedMs: readonly number[];
  /** The same arrivals against a log of every admission, which is as fair as a limit can be. */
  readonly byExactLog: number;
}

/** Sends requests at the given moments, in order, through the limit and through the oracle. */
function attack(arrivalsMs: readonly number[], limit: number): Run {
  const minute = createSlidingMinute();
  const admittedMs: number[] = [];
  const exactMs: number[] = [];
  for (const nowMs of arrivalsMs) {
    if (minute.remaining(limit, nowMs) >= 1) {
      minute.add(1, nowMs);
      admittedMs.push(nowMs);
    }
    const oldest = exactMs.at(-limit);
    if (oldest === undefined || oldest <= nowMs - minuteMs) exactMs.push(nowMs);
  }
  return { admittedMs, byExactLog: exactMs.length };
}

const every = (stepMs: number, fromMs: number, untilMs: number): number[] =>
  Array.from({ length: Math.floor((untilMs - fromMs) / stepMs) }, (_, at) => fromMs + at * stepMs);

/** Bursts as real callers send them: seeded, so that a failure can be repeated. */
function bursts(seed: number, untilMs: number): number[] {
  let state = seed >>> 0;
  const next = (): number => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;
  const arrivals: number[] = [];
  for (let nowMs = next() * 1_000; nowMs < untilMs; nowMs += 500 + next() * 20_000) {
    const size = 1 + Math.floor(next() * 30);
    for (let one = 0; one < size; one++) arrivals.push(nowMs + next() * 2_000);
  }
  return arrivals.sort((a, b) => a - b);
}

describe("a sliding minute", () => {
  const limit = 60;

  for (const offsetMs of [0, 1, 500, 999, 59_001, 59_999]) {
    test(`a burst ${offsetMs} ms into a minute and another around its end stay within one limit`, () => {
      const end = minuteMs + offsetMs;
      const arrivals = [...every(1, offsetMs, offsetMs + 200), ...every(1, end - 150, end + 1_400)];
      const { admittedMs } = attack(arrivals, limit);
      expect(worstMinute(admittedMs)).toBe(limit);
    });
  }

  test("constant hammering gets the limit in every minute and never more", () => {
    const { admittedMs, byExactLog } = attack(every(53, 123, 300 * minuteMs), limit);
    expect(worstMinute(admittedMs)).toBe(limit);
    // The second that is only partly inside the window counts whole, so a round takes 61 s instead of 60.
    expect(admittedMs.length / byExactLog).toBeGreaterThanOrEqual(60 / 61 - 0.001);
  });

  test("bursts are let through as an exact log would, to one part in a hundred", () => {
    let [admitted, exact] = [0, 0];
    for (let seed = 1; seed <= 20; seed++) {
      const run = attack(bursts(seed, 120 * minuteMs), limit);
      expect(worstMinute(run.admittedMs)).toBeLessThanOrEqual(limit);
      admitted += run.admittedMs.length;
      exact += run.byExactLog;
    }
    expect(admitted / exact).toBeGreaterThanOrEqual(0.99);
  });

  test("whatever comes whenever, no 60 s hold more than the limit", () => {
    const gaps = fc.array(fc.oneof(fc.nat({ max: 5 }), fc.nat({ max: 3_000 }), fc.nat({ max: 62_000 })), {
      maxLength: 400,
    });
    fc.assert(
      fc.property(
        gaps,
        fc.integer({ min: 1, max: 20 }),
        fc.nat({ max: 2_000_000 }),
        (steps, most, startMs) => {
          let nowMs = startMs;
          const arrivals = steps.map((step) => (nowMs += step));
          expect(worstMinute(attack(arrivals, most).admittedMs)).toBeLessThanOrEqual(most);
        },
      ),
      { numRuns: 300 },
    );
  });

  test("it says to the millisecond when something fits again", () => {
    const taken = fc.array(fc.tuple(fc.nat({ max: 9_000 }), fc.integer({ min: 1, max: 30 })), {
      maxLength: 40,
    });
    fc.assert(
      fc.property(
        taken,
        fc.integer({ min: 1, max: 100 }),
        fc.nat({ max: 500_000 }),
        (steps, amount, startMs) => {
          const minute = createSlidingMinute();
          let nowMs = startMs;
          for (const [gap, size] of steps) {
            nowMs += gap;
            if (minute.remaining(100, nowMs) >= size) minute.add(size, nowMs);
          }
          const fitsAtMs = minute.fitsAtMs(amount, 100, nowMs) ?? -1;
          expect(fitsAtMs).toBeGreaterThanOrEqual(nowMs);
          expect(fitsAtMs).toBeLessThanOrEqual(nowMs + 61_000);
          if (fitsAtMs > nowMs) expect(minute.remaining(100, fitsAtMs - 1)).toBeLessThan(amount);
          expect(minute.remaining(100, fitsAtMs)).toBeGreaterThanOrEqual(amount);
        },
      ),
      { numRuns: 500 },
    );
  });

  test("what can never fit is never promised", () => {
    expect(createSlidingMinute().fitsAtMs(101, 100, 5)).toBeUndefined();
  });

  test("a clock that steps back lets nothing extra through and forgets nothing too early", () => {
    const minute = createSlidingMinute();
    for (let taken = 0; taken < limit; taken++) minute.add(1, 100_000);
    for (const nowMs of [99_999, 40_000, 0]) {
      expect(minute.remaining(limit, nowMs)).toBe(0);
      expect(minute.oldestLeavesAtMs(nowMs)).toBe(161_000);
      expect(minute.fitsAtMs(1, limit, nowMs)).toBe(161_000);
    }
    expect(minute.remaining(limit, 160_999)).toBe(0);
    expect(minute.remaining(limit, 161_000)).toBe(limit);
    expect(minute.isEmpty(161_000)).toBe(true);
  });

  test("what a call of over a minute used beyond its estimate counts when that is known", () => {
    const minute = createSlidingMinute();
    minute.add(1_000, 0);
    minute.correct(+30_000, 0, 61_500);
    expect(minute.remaining(60_000, 61_500)).toBe(30_000);
    expect(minute.remaining(60_000, 122_900)).toBe(60_000);
    minute.correct(-30_000, 0, 61_500);
    expect(minute.remaining(60_000, 122_900)).toBe(60_000);
  });

  test("a correction moves what was counted and nothing else, as long as it counts", () => {
    const minute = createSlidingMinute();
    minute.add(50, 1_000);
    minute.add(20, 30_000);
    minute.correct(-40, 1_000, 30_500);
    expect(minute.remaining(100, 30_500)).toBe(70);
    minute.correct(+25, 30_000, 31_000);
    expect(minute.remaining(100, 31_000)).toBe(45);
    // More than was counted cannot be given back, and what has left the minute stays gone.
    minute.correct(-1_000, 30_000, 31_000);
    expect(minute.remaining(100, 31_000)).toBe(90);
    minute.correct(-1_000, 1_000, 62_000);
    expect(minute.remaining(100, 62_000)).toBe(100);
    expect(minute.isEmpty(62_000)).toBe(true);
  });
});
