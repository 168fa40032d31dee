// What every ledger must do at the end of a call: it ends once, and costs no more than was held.

import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Resolved } from "../ledger.ts";
import {
  becomes,
  failureOf,
  middayMs,
  propertyRuns,
  releaseOf,
  settlementOf,
  withBooks,
  type TestBooks,
  type OpenStore,
} from "./shared-conformance.ts";

export function endsConformance(openStore: OpenStore): void {
  const endingTest = (name: string, run: (books: TestBooks) => Promise<void>): void =>
    test(name, () => withBooks(openStore, run));

  endingTest("a settled call charges what was used and gives the rest of its hold back", async (books) => {
    const caller = await books.openCaller({ creditMicros: 1_000n });
    const callId = await books.held(caller, { amountMicros: 400n });
    const before = await books.entries();
    expect(await books.settle(callId, { units: 150 })).toMatchObject({
      first: true,
      state: "settled",
      chargedMicros: 150n,
      valueMicros: 150n,
      writtenOffMicros: 0n,
    });
    expect(await books.balance(caller)).toEqual({ posted: 850n, held: 0n });
    // One entry for the account and one for the house: the audit proves that they sum to zero.
    expect((await books.entries()) - before).toBe(2);
  });

  endingTest("a released call charges nothing and books nothing", async (books) => {
    const caller = await books.openCaller({ creditMicros: 1_000n });
    const callId = await books.held(caller, { amountMicros: 400n });
    const before = await books.entries();
    const resolved = await books.release(callId);
    expect(resolved).toMatchObject({ first: true, state: "released", chargedMicros: 0n, valueMicros: 0n });
    expect(await books.balance(caller)).toEqual({ posted: 1_000n, held: 0n });
    expect(await books.entries()).toBe(before);
  });

  endingTest("a call ends once: whoever comes later is told what the first one did", async (books) => {
    const actors = fc.array(
      fc.record({
        releases: fc.boolean(),
        units: fc.integer({ min: 0, max: 130 }),
        wave: fc.nat({ max: 2 }),
      }),
      { minLength: 8, maxLength: 8 },
    );
    await fc.assert(
      fc.asyncProperty(actors, async (ends) => {
        const caller = await books.openCaller({ creditMicros: 1_000n });
        const callId = await books.held(caller, { amountMicros: 100n });
        const entriesBefore = await books.entries();
        const results: Resolved[] = [];
        for (const wave of [0, 1, 2]) {
          const acting = ends.filter((end) => end.wave === wave);
          const waiting = acting.map((end) =>
            end.releases ? books.release(callId) : books.settle(callId, { units: end.units }),
          );
          results.push(...(await Promise.all(waiting)));
        }
        const first = results.filter((result) => result.first);
        expect(first).toHaveLength(1);
        for (const result of results) {
          expect(outcomeOf(result)).toEqual(outcomeOf(first[0]));
        }
        const charged = first[0]?.chargedMicros ?? 0n;
        const writtenOff = first[0]?.writtenOffMicros ?? 0n;
        expect(await books.balance(caller)).toEqual({ posted: 1_000n - charged, held: 0n });
        const booked = (charged > 0n ? 2 : 0) + (writtenOff > 0n ? 2 : 0);
        expect((await books.entries()) - entriesBefore).toBe(booked);
      }),
      { numRuns: propertyRuns(30) },
    );
  });

  endingTest("an end is remembered across a restart", async (books) => {
    const caller = await books.openCaller({ creditMicros: 1_000n });
    const callId = await books.held(caller);
    await books.settle(callId, { units: 70 });
    await books.restart();
    expect(await books.settle(callId, { units: 5 })).toMatchObject({ first: false, chargedMicros: 70n });
    expect(await books.release(callId)).toMatchObject({ first: false, state: "settled", chargedMicros: 70n });
    expect(await books.balance(caller)).toEqual({ posted: 930n, held: 0n });
  });

  endingTest("a call that never was cannot be settled, and releasing it changes nothing", async (books) => {
    const caller = await books.openCaller({ creditMicros: 1_000n });
    expect(await failureOf(books.settle("call_nobody", {}))).toContain("no call call_nobody");
    expect(await books.release("call_nobody")).toMatchObject({ state: "released", chargedMicros: 0n });
    expect(await books.store().calls.find(caller.accountId, "call_nobody")).toBeUndefined();
    expect(await books.balance(caller)).toEqual({ posted: 1_000n, held: 0n });
  });

  for (const [units, charged, writtenOff] of [
    [0, 0n, 0n],
    [99, 99n, 0n],
    [100, 100n, 0n],
    [101, 100n, 1n],
    [1_000, 100n, 900n],
    [1_000_000_000_000, 100n, 999_999_999_900n],
  ] as const) {
    endingTest(`of ${units} used on a hold of 100, ${charged} are charged`, async (books) => {
      const caller = await books.openCaller({ creditMicros: 1_000n });
      const callId = await books.held(caller, { amountMicros: 100n });
      expect(await books.settle(callId, { units })).toMatchObject({
        chargedMicros: charged,
        valueMicros: BigInt(units),
        writtenOffMicros: writtenOff,
      });
      expect(await books.balance(caller)).toEqual({ posted: 1_000n - charged, held: 0n });
      expect(await books.receipt(caller, callId)).toMatchObject({
        state: "settled",
        chargedMicros: charged,
        valueMicros: BigInt(units),
        writtenOffMicros: writtenOff,
      });
    });
  }

  endingTest("a negative value is refused, and the call can still end properly", async (books) => {
    const caller = await books.openCaller({ creditMicros: 1_000n });
    const callId = await books.held(caller);
    const settlement = { ...settlementOf(callId, { units: 1 }), valuePico: -5_000_000n };
    expect(await failureOf(books.store().ledger.settle(settlement))).toContain("cannot be worth -5000000");
    expect(await books.balance(caller)).toEqual({ posted: 1_000n, held: 100n });
    expect(await books.settle(callId, { units: 5 })).toMatchObject({ first: true, chargedMicros: 5n });
  });

  endingTest(
    "a call that runs for a while counts as dispatched, without anybody waiting for the mark",
    async (books) => {
      const caller = await books.openCaller();
      const [sent, ended] = [await books.held(caller), await books.held(caller)];
      books.store().ledger.markDispatched(sent, middayMs);
      books.store().ledger.markDispatched("call_nobody", middayMs);
      await books.held(caller);
      await becomes(async () => (await books.receipt(caller, sent)).state, "dispatched");
      await books.settle(ended, { units: 1 });
      books.store().ledger.markDispatched(ended, middayMs);
      await books.held(caller);
      expect((await books.receipt(caller, ended)).state).toBe("settled");
      await Promise.all([books.release(sent), books.store().ledger.release(releaseOf(sent))]);
      expect((await books.receipt(caller, sent)).state).toBe("released");
    },
  );
}

const outcomeOf = (resolved: Resolved | undefined) => ({
  state: resolved?.state,
  chargedMicros: resolved?.chargedMicros,
  valueMicros: resolved?.valueMicros,
  writtenOffMicros: resolved?.writtenOffMicros,
});
