// What every ledger must do about calls that a process before this one left open.

import { expect, test } from "bun:test";
import { createTerms } from "../../prices/terms.ts";
import {
  becomes,
  failureOf,
  middayMs,
  operationId,
  useOf,
  withBooks,
  type TestBooks,
  type OpenStore,
} from "./shared-conformance.ts";

export function runsConformance(openStore: OpenStore): void {
  const runTest = (name: string, run: (books: TestBooks) => Promise<void>): void =>
    test(name, () => withBooks(openStore, run));

  runTest("every call a dead process left open is released, without a charge", async (books) => {
    const caller = await books.openCaller({ budget: { limitMicros: 5_000n, window: "month" } });
    const [open, sent, ended] = [
      await books.held(caller, { amountMicros: 100n }),
      await books.held(caller, { amountMicros: 250n }),
      await books.held(caller, { amountMicros: 400n }),
    ];
    books.store().ledger.markDispatched(sent, middayMs);
    await becomes(async () => (await books.receipt(caller, sent)).state, "dispatched");
    await books.settle(ended, { units: 40 });
    const entries = await books.entries();

    const recovery = await books.restart(middayMs + 60_000);
    expect(recovery).toEqual({
      releasedCalls: 2,
      releasedMicros: 350n,
      settledCalls: 0,
      charges: [],
      lostTasks: 0,
    });
    expect(await books.balance(caller)).toEqual({ posted: 999_960n, held: 0n });
    expect(await useOf(books, caller, "month", middayMs)).toEqual({ spentMicros: 40n, heldMicros: 0n });
    expect(await books.entries()).toBe(entries);
    for (const callId of [open, sent]) {
      expect(await books.receipt(caller, callId)).toMatchObject({
        state: "released",
        outcome: "unknown",
        chargedMicros: 0n,
        settledAtMs: middayMs + 60_000,
      });
    }
    expect(await books.receipt(caller, ended)).toMatchObject({ state: "settled", chargedMicros: 40n });
  });

  runTest(
    "a stream cut by a crash is charged for what it had delivered, and no more than was held",
    async (books) => {
      const caller = await books.openCaller({ creditMicros: 10_000n });
      const [short, long] = [
        await books.held(caller, { amountMicros: 100n }),
        await books.held(caller, { amountMicros: 100n }),
      ];
      books.store().ledger.noteProgress(short, { units: 10 });
      books.store().ledger.noteProgress(short, { units: 40 });
      books.store().ledger.noteProgress(long, { units: 400 });
      await books.held(caller);
      const other = createTerms("conformance.other", undefined, { units: 1_000_000n });
      const sold = { operationId: "conformance.other", model: undefined, terms: other };
      await books.store().ledger.recordPrices([sold]);
      const elsewhere = await books.held(caller, { operationId: sold.operationId, terms: other });
      books.store().ledger.noteProgress(elsewhere, { units: 7 });
      await books.held(caller);
      const recovery = await books.restart();
      expect(recovery).toMatchObject({ releasedCalls: 2, settledCalls: 3, lostTasks: 0 });
      expect(recovery.charges.toSorted((a, b) => (a.operationId < b.operationId ? -1 : 1))).toEqual([
        { operationId: sold.operationId, chargedMicros: 7n, writtenOffMicros: 0n },
        { operationId, chargedMicros: 140n, writtenOffMicros: 300n },
      ]);
      const settled = { state: "settled", outcome: "unknown", usageSource: "estimated" } as const;
      expect(await books.receipt(caller, short)).toMatchObject({ ...settled, chargedMicros: 40n });
      expect(await books.receipt(caller, long)).toMatchObject({
        ...settled,
        chargedMicros: 100n,
        writtenOffMicros: 300n,
      });
      expect(await books.balance(caller)).toEqual({ posted: 9_853n, held: 0n });
    },
  );

  runTest(
    "a stream whose end nobody could tell is charged for what it had delivered, and any other call for nothing",
    async (books) => {
      const caller = await books.openCaller({ creditMicros: 1_000n });
      const [early, atOnce, late, failed, silent] = [
        await books.held(caller),
        await books.held(caller),
        await books.held(caller),
        await books.held(caller),
        await books.held(caller),
      ];
      const { ledger } = books.store();
      ledger.noteProgress(early, { units: 10 });
      // Whoever reads the balance has what was noted until then posted.
      expect(await books.balance(caller)).toEqual({ posted: 1_000n, held: 500n });
      ledger.noteProgress(atOnce, { units: 5 });
      const endedAtOnce = books.release(atOnce, { outcome: "unknown" });
      expect(await endedAtOnce).toMatchObject({ first: true, state: "settled", chargedMicros: 5n });
      for (const callId of [late, failed]) ledger.noteProgress(callId, { units: 20 });
      const unknown = { outcome: "unknown" } as const;
      const settled = { first: true, state: "settled" } as const;
      const released = { first: true, state: "released", chargedMicros: 0n } as const;
      expect(await books.release(early, unknown)).toMatchObject({ ...settled, chargedMicros: 10n });
      expect(await books.release(late, unknown)).toMatchObject({ ...settled, chargedMicros: 20n });
      expect(await books.release(failed)).toMatchObject(released);
      expect(await books.release(silent, unknown)).toMatchObject(released);
      expect(await books.release(late, unknown)).toMatchObject({ ...settled, first: false });
      expect(await books.receipt(caller, late)).toMatchObject({
        outcome: "unknown",
        usageSource: "estimated",
        used: { units: 20 },
      });
      expect(await books.balance(caller)).toEqual({ posted: 965n, held: 0n });
    },
  );

  runTest("a call released by the next run stays released, however late its end comes", async (books) => {
    const caller = await books.openCaller({ creditMicros: 1_000n });
    const callId = await books.held(caller);
    await books.restart();
    const late = await books.settle(callId, { units: 100 });
    expect(late).toMatchObject({ first: false, state: "released", chargedMicros: 0n });
    expect(await books.balance(caller)).toEqual({ posted: 1_000n, held: 0n });
  });

  runTest("a run that finds nothing open releases nothing, and runs may follow each other", async (books) => {
    const caller = await books.openCaller();
    const nothing = { releasedCalls: 0, releasedMicros: 0n, settledCalls: 0, charges: [], lostTasks: 0 };
    expect(await books.restart()).toEqual(nothing);
    await books.held(caller);
    expect(await books.restart()).toEqual({ ...nothing, releasedCalls: 1, releasedMicros: 100n });
    expect(await books.restart()).toEqual(nothing);
  });

  runTest("a program beside the server, which begins no run, leaves its calls alone", async (books) => {
    const caller = await books.openCaller();
    const callId = await books.held(caller);
    await books.reopen();
    const transfer = { transferId: "t1", accountId: caller.accountId, nowMs: middayMs };
    await books.store().accounts.topUp({ ...transfer, amountMicros: 5n });
    expect(await failureOf(books.hold(caller))).toContain("before the run has begun");
    expect((await books.receipt(caller, callId)).state).toBe("held");
    expect(await books.balance(caller)).toMatchObject({ held: 100n });
  });
}
