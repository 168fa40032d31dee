import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { worstMinute } from "./limiter-conformance.ts";
import { SlidingMinute } from "./sliding-minute.ts";

const minuteMs = 60_000;

interface Run {
  /** Moments at which a request was let through. */
  readonly admittedMs: readonly number[];
  /** The same arrivals against a log of every admission, which is as fair as a limit can be. */
  readonly byExactLog: number;
}

/** Sends requests at the given moments, in order, through the limit and through the oracle. */
function attack(arrivalsMs: readonly number[], limit: number): Run {
  const minute = new SlidingMinute();
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
      expect(admittedMs).toHaveLength(2 * limit);
    });
  }

  test("what comes within one millisecond leaves with the last of it, and nobody is told to wait over a minute", () => {
    const minute = new SlidingMinute();
    for (const nowMs of [1_000.25, 1_000.5, 1_000.75]) minute.add(1, nowMs);
    expect(minute.fitsInMs(1, 3, 1_000.75)).toBe(minuteMs);
    expect(minute.remaining(3, 61_000.5)).toBe(0);
    expect(minute.remaining(3, 61_000.75)).toBe(3);
    // Fractions of which the sum with a minute is rounded up.
    for (let nowMs = 100_000.1; nowMs < 10_000_000; nowMs += 61_000.7) {
      minute.add(1, nowMs);
      expect(minute.oldestLeavesInMs(nowMs)).toBe(minuteMs);
      expect(minute.fitsInMs(1, 1, nowMs)).toBe(minuteMs);
    }
  });

  test("what is used in every millisecond is forgotten millisecond by millisecond", () => {
    const minute = new SlidingMinute();
    const limit = 1_000_000;
    for (let nowMs = 0; nowMs < 3 * minuteMs; nowMs++) {
      minute.add(16, nowMs);
      const counted = 16 * Math.min(nowMs + 1, minuteMs);
      if (minute.remaining(limit, nowMs) !== limit - counted) throw new Error(`Miscounted at ${nowMs} ms.`);
    }
    expect(minute.oldestLeavesInMs(3 * minuteMs - 1)).toBe(1);
    expect(minute.fitsInMs(limit, limit, 3 * minuteMs - 1)).toBe(minuteMs);
    // As those leave, few remain of many.
    expect(minute.remaining(limit, 4 * minuteMs - 10)).toBe(limit - 16 * 9);
    expect(minute.isEmpty(4 * minuteMs - 1)).toBe(true);
  });

  test("constant hammering gets the limit in every minute and never more", () => {
    const { admittedMs, byExactLog } = attack(every(53, 123, 300 * minuteMs), limit);
    expect(worstMinute(admittedMs)).toBe(limit);
    expect(admittedMs).toHaveLength(byExactLog);
  });

  test("bursts are let through as an exact log would, to one part in a thousand", () => {
    let [admitted, exact] = [0, 0];
    for (let seed = 1; seed <= 20; seed++) {
      const run = attack(bursts(seed, 120 * minuteMs), limit);
      expect(worstMinute(run.admittedMs)).toBeLessThanOrEqual(limit);
      admitted += run.admittedMs.length;
      exact += run.byExactLog;
    }
    expect(admitted / exact).toBeGreaterThanOrEqual(0.999);
  });

  test("whatever comes whenever, no 60 s hold more than the limit, and nobody waits longer for it", () => {
    const gaps = fc.array(
      fc.oneof(fc.nat({ max: 5 }), fc.nat({ max: 3_000 }), fc.nat({ max: 62_000 }), fc.constant(minuteMs)),
      {
        maxLength: 400,
      },
    );
    fc.assert(
      fc.property(
        gaps,
        fc.integer({ min: 1, max: 20 }),
        fc.nat({ max: 2_000_000 }),
        (steps, most, startMs) => {
          let nowMs = startMs;
          const arrivals = steps.map((step) => (nowMs += step));
          const { admittedMs, byExactLog } = attack(arrivals, most);
          expect(worstMinute(admittedMs)).toBeLessThanOrEqual(most);
          expect(admittedMs).toHaveLength(byExactLog);
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
          const minute = new SlidingMinute();
          let nowMs = startMs;
          for (const [gap, size] of steps) {
            nowMs += gap;
            if (minute.remaining(100, nowMs) >= size) minute.add(size, nowMs);
          }
          const fitsInMs = minute.fitsInMs(amount, 100, nowMs) ?? -1;
          expect(fitsInMs).toBeGreaterThanOrEqual(0);
          expect(fitsInMs).toBeLessThanOrEqual(minuteMs);
          if (fitsInMs > 0) expect(minute.remaining(100, nowMs + fitsInMs - 1)).toBeLessThan(amount);
          expect(minute.remaining(100, nowMs + fitsInMs)).toBeGreaterThanOrEqual(amount);
        },
      ),
      { numRuns: 500 },
    );
  });

  test("what can never fit is never promised", () => {
    expect(new SlidingMinute().fitsInMs(101, 100, 5)).toBeUndefined();
  });

  test("a clock that steps back lets nothing extra through and forgets nothing too early", () => {
    const minute = new SlidingMinute();
    for (let taken = 0; taken < limit; taken++) minute.add(1, 100_000);
    for (const nowMs of [99_999, 40_000, 0]) {
      expect(minute.remaining(limit, nowMs)).toBe(0);
      expect(minute.oldestLeavesInMs(nowMs)).toBe(160_000 - nowMs);
      expect(minute.fitsInMs(1, limit, nowMs)).toBe(160_000 - nowMs);
    }
    minute.add(1, 50_000);
    expect(minute.remaining(limit, 159_999)).toBe(-1);
    expect(minute.remaining(limit, 160_000)).toBe(limit);
    expect(minute.isEmpty(160_000)).toBe(true);
  });

  test("what a call of over a minute used beyond its estimate counts when that is known", () => {
    const minute = new SlidingMinute();
    minute.add(1_000, 0);
    minute.correct(+30_000, 0, 61_500);
    expect(minute.remaining(60_000, 61_500)).toBe(30_000);
    expect(minute.remaining(60_000, 121_499)).toBe(30_000);
    expect(minute.remaining(60_000, 121_500)).toBe(60_000);
    minute.correct(-30_000, 0, 61_500);
    expect(minute.remaining(60_000, 122_900)).toBe(60_000);
  });

  test("a correction moves what was counted and nothing else, as long as it counts", () => {
    const minute = new SlidingMinute();
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
    // What was given back may be wanted after all, for as long as it would have counted.
    expect(minute.isEmpty(62_000)).toBe(false);
    minute.correct(+10, 30_000, 62_000);
    expect(minute.oldestLeavesInMs(62_000)).toBe(28_000);
    expect(minute.remaining(100, 89_999)).toBe(90);
    expect(minute.isEmpty(90_000)).toBe(true);
  });

  test("what came a millisecond later is not given back in the place of what has left", () => {
    const minute = new SlidingMinute();
    minute.add(50, 1_000);
    minute.add(20, 1_001);
    minute.correct(-50, 1_000, 61_000);
    expect(minute.remaining(100, 61_000)).toBe(80);
  });
});
