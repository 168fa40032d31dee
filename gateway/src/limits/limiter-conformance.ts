// What every limiter must do, whatever it is made of. Limiters that several processes share run these very tests.

import { describe, expect, test } from "bun:test";
import { modelConformance, type OpenLimiter } from "./limiter-model-conformance.ts";
import type { Limiter, LimiterRefusal, RateWant, SlotWant, Take, Want } from "./limiter.ts";
import { asTakenAt, type TakenAt } from "./taken-at.ts";

export function limiterConformance(name: string, open: OpenLimiter): void {
  describe(`${name}: rates`, () => ratesConformance(open));
  describe(`${name}: slots`, () => slotsConformance(open));
  describe(`${name}: model`, () => modelConformance(open));
}

/** The most that was let through in any 60 s, wherever they begin. */
export function worstMinute(admittedMs: readonly number[]): number {
  let worst = 0;
  let first = 0;
  for (const [at, endMs] of admittedMs.entries()) {
    while ((admittedMs[first] ?? 0) <= endMs - minuteMs) first++;
    worst = Math.max(worst, at - first + 1);
  }
  return worst;
}

const minuteMs = 60_000;

const rate = (name: string, limit: number, amount = 1): RateWant => ({
  kind: "rate",
  of: "requests",
  name,
  amount,
  limit,
});

const slot = (holder: string, limit = 2, leaseMs = 1_000): SlotWant => ({
  kind: "slot",
  name: "places",
  holder,
  limit,
  leaseMs,
});

async function taken(limiter: Limiter, wants: readonly Want[]): Promise<Extract<Take, { kind: "taken" }>> {
  const take = await limiter.take(wants);
  if (take.kind === "taken") return take;
  throw new Error(`Refused, where there was room: ${JSON.stringify(take)}`);
}

async function refused(limiter: Limiter, wants: readonly Want[]): Promise<LimiterRefusal> {
  const take = await limiter.take(wants);
  if (take.kind === "refused") return take;
  throw new Error(`Taken, where there was no room: ${JSON.stringify(take)}`);
}

function ratesConformance(open: OpenLimiter): void {
  test("a refused request counts nothing, and is let through at the very millisecond it was told", async () => {
    const { limiter, advance } = await open();
    for (let count = 0; count < 3; count++) {
      await taken(limiter, [rate("a", 3)]);
      advance(1_500);
    }
    const { standing, retryInMs } = await refused(limiter, [rate("a", 3)]);
    expect(standing).toMatchObject({ limit: 3, remaining: 0 });
    expect(standing.resetsInMs).toBe(retryInMs);
    advance(retryInMs - 1);
    await refused(limiter, [rate("a", 3)]);
    advance(1);
    await taken(limiter, [rate("a", 3)]);
  });

  test("what was taken counts for 60 s, not a millisecond less, and not one more", async () => {
    const { limiter, advance } = await open();
    for (const apartMs of [1, 7, 999, 1_000, 58_900]) {
      await taken(limiter, [rate("a", 2)]);
      advance(apartMs);
      await taken(limiter, [rate("a", 2)]);
      const { standing, retryInMs } = await refused(limiter, [rate("a", 2)]);
      expect([standing.resetsInMs, retryInMs]).toEqual([minuteMs - apartMs, minuteMs - apartMs]);
      advance(minuteMs - apartMs - 1);
      await refused(limiter, [rate("a", 2)]);
      advance(1);
      expect(await limiter.look(rate("a", 2))).toEqual({ limit: 2, remaining: 1, resetsInMs: apartMs });
      advance(apartMs);
      expect(await limiter.look(rate("a", 2))).toEqual({ limit: 2, remaining: 2, resetsInMs: 0 });
    }
  });

  test("after a burst that took everything at once, everything is free 60 s later, and not before", async () => {
    const { limiter, advance } = await open();
    for (let count = 0; count < 60; count++) await taken(limiter, [rate("a", 60)]);
    expect((await refused(limiter, [rate("a", 60)])).retryInMs).toBe(minuteMs);
    expect((await refused(limiter, [rate("a", 60, 60)])).retryInMs).toBe(minuteMs);
    advance(minuteMs - 1);
    expect((await refused(limiter, [rate("a", 60)])).retryInMs).toBe(1);
    advance(1);
    await taken(limiter, [rate("a", 60, 60)]);
  });

  test("a large limit is as exact as a small one, whatever is corrected in between", async () => {
    const { limiter, advance } = await open();
    const [moments, each] = [1_500, 1_000];
    const limit = moments * each;
    const large = (amount: number): RateWant => rate("large", limit, amount);
    const takenAt: TakenAt[] = [];
    for (let moment = 0; moment < moments; moment++) {
      takenAt.push((await taken(limiter, [large(each)])).takenAt);
      advance(1);
    }
    // It waits for the first one, or for the first thousand, or for all.
    for (const amount of [1, each, 1_000 * each, 1_000 * each + 1, limit]) {
      const waitsFor = Math.ceil(amount / each);
      expect((await refused(limiter, [large(amount)])).retryInMs).toBe(minuteMs - moments + waitsFor - 1);
    }
    for (let moment = 0; moment < moments; moment += 500) {
      await limiter.correct(large(each), 0, takenAt[moment] ?? asTakenAt(0));
      await limiter.correct(large(each), each - 400, takenAt[moment + 1] ?? asTakenAt(0));
      await limiter.correct(large(each), each + 150, takenAt[moment + 2] ?? asTakenAt(0));
    }
    let free = 3 * (each + 400 - 150);
    const standing = await limiter.look(large(1));
    expect(standing).toEqual({ limit, remaining: free, resetsInMs: minuteMs - moments + 1 });
    advance(minuteMs - moments - 1);
    for (let moment = 0; moment < moments; moment++) {
      advance(1);
      free += [0, each - 400, each + 150][moment % 500] ?? each;
      expect((await limiter.look(large(1))).remaining).toBe(free);
    }
    expect(await limiter.look(large(1))).toEqual({ limit, remaining: limit, resetsInMs: 0 });
  });

  test("wants are taken all or none", async () => {
    const { limiter } = await open();
    await taken(limiter, [rate("tokens", 100, 60)]);
    const { want } = await refused(limiter, [slot("one"), rate("requests", 10), rate("tokens", 100, 60)]);
    expect(want).toEqual(rate("tokens", 100, 60));
    expect((await limiter.look(rate("requests", 10))).remaining).toBe(10);
    expect((await limiter.look(slot("one"))).remaining).toBe(2);
    const { standings } = await taken(limiter, [rate("requests", 10), rate("tokens", 100, 40)]);
    expect(standings.map(({ limit, remaining }) => [limit, remaining])).toEqual([
      [10, 9],
      [100, 0],
    ]);
    expect((await limiter.look(rate("requests", 10))).remaining).toBe(9);
  });

  test("whoever wants nothing gets it", async () => {
    const { limiter } = await open();
    expect((await taken(limiter, [])).standings).toEqual([]);
    await taken(limiter, [rate("a", 1, 0)]);
    expect(await limiter.look(rate("a", 1))).toEqual({ limit: 1, remaining: 1, resetsInMs: 0 });
  });

  test("what can never fit is refused, and nobody is told to wait longer than a minute for it", async () => {
    const { limiter } = await open();
    expect(await refused(limiter, [rate("a", 5, 6)])).toMatchObject({
      standing: { limit: 5, remaining: 5, resetsInMs: 0 },
      retryInMs: minuteMs,
    });
  });

  test("who lowers a limit below what was taken sees nothing left, not less", async () => {
    const { limiter } = await open();
    await taken(limiter, [rate("a", 100, 60)]);
    expect((await limiter.look(rate("a", 10))).remaining).toBe(0);
    expect((await refused(limiter, [rate("a", 10)])).standing.remaining).toBe(0);
    expect((await limiter.look(rate("a", 100))).remaining).toBe(40);
  });

  test("what a call did not use comes back, once", async () => {
    const { limiter, advance } = await open();
    const other = await taken(limiter, [rate("tokens", 100, 10)]);
    const { takenAt } = await taken(limiter, [rate("tokens", 100, 80)]);
    await limiter.giveBack([rate("tokens", 100, 80)], takenAt);
    expect((await limiter.look(rate("tokens", 100))).remaining).toBe(90);
    // More than was counted at its moment cannot be given back.
    await limiter.giveBack([rate("tokens", 100, 80)], other.takenAt);
    expect(await limiter.look(rate("tokens", 100))).toMatchObject({ remaining: 100, resetsInMs: 0 });
    advance(2 * minuteMs);
    await taken(limiter, [rate("tokens", 100, 80)]);
    await limiter.giveBack([rate("tokens", 100, 80)], takenAt);
    expect((await limiter.look(rate("tokens", 100))).remaining).toBe(20);
  });

  test("an estimate is replaced where it was counted, and what is known only later counts from then on", async () => {
    const { limiter, advance } = await open();
    const estimate = rate("tokens", 100, 50);
    const { takenAt } = await taken(limiter, [estimate]);
    advance(10_000);
    await taken(limiter, [rate("tokens", 100, 20)]);
    await limiter.correct(estimate, 10, takenAt);
    expect((await limiter.look(rate("tokens", 100))).remaining).toBe(70);
    await limiter.correct(estimate, 55, takenAt);
    expect((await limiter.look(rate("tokens", 100))).remaining).toBe(65);
    advance(49_999);
    expect((await limiter.look(rate("tokens", 100))).remaining).toBe(65);
    advance(1);
    expect((await limiter.look(rate("tokens", 100))).remaining).toBe(80);
    await limiter.correct(estimate, 35, takenAt);
    expect((await limiter.look(rate("tokens", 100))).remaining).toBe(80);
    advance(2 * minuteMs);
    await limiter.correct(estimate, 80, takenAt);
    expect((await limiter.look(rate("tokens", 100))).remaining).toBe(70);
    advance(minuteMs - 1);
    expect((await limiter.look(rate("tokens", 100))).remaining).toBe(70);
    advance(1);
    expect((await limiter.look(rate("tokens", 100))).remaining).toBe(100);
  });

  test("of any number of requests on many keys, each key gets its limit and no more", async () => {
    const { limiter, advance, nowMs } = await open();
    const admitted = new Map<string, number[]>();
    for (let request = 0; request < 6_000; request++) {
      advance(50);
      const name = `key ${request % 7}`;
      const take = await limiter.take([rate(name, 10 + (request % 7))]);
      if (take.kind === "taken") admitted.set(name, [...(admitted.get(name) ?? []), nowMs()]);
    }
    for (let key = 0; key < 7; key++) expect(worstMinute(admitted.get(`key ${key}`) ?? [])).toBe(10 + key);
  });

  test("of many who come at once, as many get through as there is room for", async () => {
    const { limiter } = await open();
    const come = async (): Promise<Take> => limiter.take([rate("a", 60)]);
    const takes = await Promise.all(Array.from({ length: 200 }, come));
    expect(takes.filter(({ kind }) => kind === "taken")).toHaveLength(60);
  });

  test("names are told apart, whatever letters they are written in", async () => {
    const { limiter } = await open();
    const names = ["a", "A", "a b", "a  b", "a:b", "a%20b", "a\nb", "ä", "a\u{1f600}", "", "*"];
    for (const name of names) await taken(limiter, [rate(name, 1)]);
    for (const name of names) await refused(limiter, [rate(name, 1)]);
    // A rate and a number of places are two limits, even under one name.
    await taken(limiter, [{ ...slot("one", 1), name: "a" }]);
  });
}

function slotsConformance(open: OpenLimiter): void {
  test("there are no more holders than places, and a place comes back once", async () => {
    const { limiter } = await open();
    await taken(limiter, [slot("one")]);
    await taken(limiter, [slot("two")]);
    expect(await refused(limiter, [slot("three")])).toMatchObject({
      want: slot("three"),
      standing: { limit: 2, remaining: 0 },
      retryInMs: 1_000,
    });
    await limiter.freeSlot("places", "one");
    await limiter.freeSlot("places", "one");
    await taken(limiter, [slot("three")]);
    await refused(limiter, [slot("four")]);
    await limiter.freeSlot("places", "nobody");
    await limiter.freeSlot("elsewhere", "two");
    await refused(limiter, [slot("four")]);
  });

  test("a place given back is free, and so is one whose lease has ended", async () => {
    const { limiter, advance } = await open();
    const { takenAt } = await taken(limiter, [slot("one")]);
    await limiter.giveBack([slot("one")], takenAt);
    expect((await limiter.look(slot("x"))).remaining).toBe(2);
    await taken(limiter, [slot("one", 2, 1_000)]);
    advance(400);
    await taken(limiter, [slot("two", 2, 5_000)]);
    expect(await limiter.look(slot("x"))).toEqual({ limit: 2, remaining: 0, resetsInMs: 600 });
    advance(599);
    await refused(limiter, [slot("three")]);
    advance(1);
    expect((await limiter.look(slot("x"))).remaining).toBe(1);
    await taken(limiter, [slot("three", 2, 60_000)]);
    await refused(limiter, [slot("four")]);
  });

  test("nobody who looks takes a place", async () => {
    const { limiter } = await open();
    for (let look = 0; look < 3; look++) {
      expect(await limiter.look(slot("x", 1))).toEqual({ limit: 1, remaining: 1, resetsInMs: 1_000 });
    }
    await taken(limiter, [slot("x", 1)]);
  });
}
