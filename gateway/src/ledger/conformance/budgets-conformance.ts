// What every ledger must do about budgets: what is spent and held in a window stays within them.

import { expect, test } from "bun:test";
import type { Budget } from "../../keys/keys.ts";
import {
  middayMs,
  useOf,
  withBooks,
  type Caller,
  type TestBooks,
  type OpenStore,
} from "./shared-conformance.ts";

export function budgetsConformance(openStore: OpenStore): void {
  const budgetTest = (name: string, run: (books: TestBooks) => Promise<void>): void =>
    test(name, () => withBooks(openStore, run));

  for (const window of ["day", "month", "total"] as const) {
    budgetTest(
      `a ${window} budget fits to its last micro, then tells what is spent and held`,
      async (books) => {
        const budget = { limitMicros: 300n, window };
        const caller = await books.openCaller({ budget });
        const spent = await books.held(caller);
        await books.settle(spent, { units: 80 });
        await books.held(caller, { amountMicros: 100n });
        const tooMuch = await books.hold(caller, { amountMicros: 121n });
        expect(tooMuch).toEqual({ kind: "budget_exceeded", budget, spentMicros: 80n, heldMicros: 100n });
        expect(await books.balance(caller)).toMatchObject({ held: 100n });
        await books.held(caller, { amountMicros: 120n });
        expect(await useOf(books, caller, window, middayMs)).toEqual({ spentMicros: 80n, heldMicros: 220n });
      },
    );

    budgetTest(`of 50 calls at once on a ${window} budget for 10, 10 are held`, async (books) => {
      const caller = await books.openCaller({ budget: { limitMicros: 1_099n, window } });
      const results = await Promise.all(Array.from({ length: 50 }, () => books.hold(caller)));
      expect(results.filter(({ kind }) => kind === "held")).toHaveLength(10);
      expect(results.filter(({ kind }) => kind === "budget_exceeded")).toHaveLength(40);
      expect(await books.balance(caller)).toMatchObject({ held: 1_000n });
    });
  }

  for (const [window, lastMs, nextMs] of [
    ["day", Date.UTC(2026, 9, 20, 23, 59, 59, 999), Date.UTC(2026, 9, 21)],
    ["month", Date.UTC(2028, 1, 29, 23, 59, 59, 999), Date.UTC(2028, 2, 1)],
    ["month", Date.UTC(2026, 11, 31, 23, 59, 59, 999), Date.UTC(2027, 0, 1)],
  ] as const) {
    const moment = new Date(nextMs).toISOString();
    budgetTest(
      `a ${window} budget renews at ${moment}, and open holds stay in their window`,
      async (books) => {
        const budget = { limitMicros: 200n, window };
        const caller = await books.openCaller({ budget });
        const [settledLate, releasedLate] = [
          await books.held(caller, { atMs: lastMs }),
          await books.held(caller, { atMs: lastMs }),
        ];
        expect((await books.hold(caller, { atMs: lastMs, amountMicros: 1n })).kind).toBe("budget_exceeded");
        const full = await books.held(caller, { atMs: nextMs, amountMicros: 200n });
        expect((await books.hold(caller, { atMs: nextMs, amountMicros: 1n })).kind).toBe("budget_exceeded");

        await books.settle(settledLate, { units: 100 }, { atMs: nextMs + 5 });
        await books.release(releasedLate, { atMs: nextMs + 5 });
        expect(await useOf(books, caller, window, lastMs)).toEqual({ spentMicros: 100n, heldMicros: 0n });
        expect(await useOf(books, caller, window, nextMs)).toEqual({ spentMicros: 0n, heldMicros: 200n });
        // Nor does anything of the new window count in the old one, for whoever came before its end and is decided after.
        const tooMuch = await books.hold(caller, { atMs: lastMs, amountMicros: 101n });
        expect(tooMuch).toEqual({ kind: "budget_exceeded", budget, spentMicros: 100n, heldMicros: 0n });
        // The end of an old window's hold frees nothing of the new window.
        expect((await books.hold(caller, { atMs: nextMs, amountMicros: 1n })).kind).toBe("budget_exceeded");
        await books.settle(full, { units: 200 }, { atMs: nextMs + 6 });
        expect(await useOf(books, caller, window, nextMs)).toEqual({ spentMicros: 200n, heldMicros: 0n });
      },
    );
  }

  budgetTest("a total budget never renews", async (books) => {
    const caller = await books.openCaller({ budget: { limitMicros: 100n, window: "total" } });
    await books.settle(await books.held(caller), { units: 100 });
    const years = middayMs + 5 * 366 * 86_400_000;
    expect((await books.hold(caller, { atMs: years, amountMicros: 1n })).kind).toBe("budget_exceeded");
  });

  budgetTest(
    "a budget lowered below what is spent admits nothing and turns nothing negative",
    async (books) => {
      const caller = await books.openCaller({ budget: { limitMicros: 1_000n, window: "day" } });
      const callId = await books.held(caller, { amountMicros: 500n });
      const budget: Budget = { limitMicros: 100n, window: "day" };
      const refused = await books.hold(caller, { budget, amountMicros: 1n });
      expect(refused).toEqual({ kind: "budget_exceeded", budget, spentMicros: 0n, heldMicros: 500n });
      expect(await books.settle(callId, { units: 500 })).toMatchObject({ chargedMicros: 500n });
      const spent = await books.hold(caller, { budget, amountMicros: 0n });
      expect(spent).toEqual({ kind: "budget_exceeded", budget, spentMicros: 500n, heldMicros: 0n });
    },
  );

  budgetTest("a budget whose window changes counts what was spent in the new one", async (books) => {
    const caller = await books.openCaller();
    const day = { limitMicros: 100n, window: "day" } as const;
    const month = { limitMicros: 1_000n, window: "month" } as const;
    const total = { limitMicros: 1_100n, window: "total" } as const;
    for (let date = 1; date <= 9; date++) {
      const atMs = Date.UTC(2026, 9, date, 12);
      await books.settle(await books.held(caller, { atMs, budget: day }), { units: 100 }, { atMs });
    }
    const tenthMs = Date.UTC(2026, 9, 10, 12);
    const open = await books.held(caller, { atMs: tenthMs, budget: day, amountMicros: 40n });
    const tooMuch = await books.hold(caller, { atMs: tenthMs, budget: month, amountMicros: 61n });
    expect(tooMuch).toEqual({ kind: "budget_exceeded", budget: month, spentMicros: 900n, heldMicros: 40n });
    const rest = await books.held(caller, { atMs: tenthMs, budget: month, amountMicros: 60n });
    // What began under one window ends in all of them.
    await books.settle(open, { units: 30 }, { atMs: tenthMs });
    expect(await books.hold(caller, { atMs: tenthMs, budget: day, amountMicros: 11n })).toEqual({
      kind: "budget_exceeded",
      budget: day,
      spentMicros: 30n,
      heldMicros: 60n,
    });
    expect(await books.hold(caller, { atMs: tenthMs, budget: month, amountMicros: 11n })).toEqual({
      kind: "budget_exceeded",
      budget: month,
      spentMicros: 930n,
      heldMicros: 60n,
    });
    const firstMs = Date.UTC(2026, 9, 1, 13);
    expect(await useOf(books, caller, "day", firstMs)).toEqual({ spentMicros: 100n, heldMicros: 0n });
    await books.release(rest, { atMs: tenthMs });
    expect(await useOf(books, caller, "month", tenthMs)).toEqual({ spentMicros: 930n, heldMicros: 0n });

    const novemberMs = Date.UTC(2026, 10, 1, 12);
    await books.held(caller, { atMs: novemberMs, budget: month, amountMicros: 170n });
    expect(await books.hold(caller, { atMs: novemberMs, budget: total, amountMicros: 1n })).toEqual({
      kind: "budget_exceeded",
      budget: total,
      spentMicros: 930n,
      heldMicros: 170n,
    });
    expect(await useOf(books, caller, "month", tenthMs)).toEqual({ spentMicros: 930n, heldMicros: 0n });
  });

  budgetTest("a budget that a key is given later counts what it has spent", async (books) => {
    const caller = await books.openCaller();
    const beside = await books.openKey(caller);
    const septemberMs = Date.UTC(2026, 8, 30, 12);
    const firstMs = Date.UTC(2026, 9, 1);
    for (const [atMs, units] of [
      [septemberMs, 1],
      [firstMs, 20],
      [middayMs, 300],
    ] as const) {
      await books.settle(await books.held(caller, { atMs, amountMicros: 300n }), { units }, { atMs });
      await books.settle(await books.held(beside, { atMs }), { units: 7 }, { atMs });
    }
    const budget = { limitMicros: 400n, window: "total" } as const;
    const given = await giveBudget(books, caller, budget);
    expect(await books.hold(given, { amountMicros: 80n })).toEqual({
      kind: "budget_exceeded",
      budget,
      spentMicros: 321n,
      heldMicros: 0n,
    });
    await books.held(given, { amountMicros: 79n });
    for (const [window, spentMicros] of [
      ["day", 300n],
      ["month", 320n],
      ["total", 321n],
    ] as const)
      expect(await useOf(books, given, window, middayMs)).toEqual({ spentMicros, heldMicros: 79n });
    expect(await useOf(books, given, "day", firstMs)).toEqual({ spentMicros: 20n, heldMicros: 0n });
    expect(await useOf(books, beside, "total", middayMs)).toEqual({ spentMicros: 0n, heldMicros: 0n });
  });

  budgetTest("what is under way when a key is given a budget counts in it once", async (books) => {
    const caller = await books.openCaller();
    const yesterdayMs = middayMs - 86_400_000;
    const [settled, released, left] = [
      await books.held(caller),
      await books.held(caller, { atMs: yesterdayMs, amountMicros: 200n }),
      await books.held(caller, { amountMicros: 30n }),
    ];
    const budget = { limitMicros: 1_000n, window: "total" } as const;
    const given = await giveBudget(books, caller, budget);
    expect(await useOf(books, given, "total", middayMs)).toEqual({ spentMicros: 0n, heldMicros: 330n });
    expect(await useOf(books, given, "day", middayMs)).toEqual({ spentMicros: 0n, heldMicros: 130n });
    expect((await books.hold(given, { amountMicros: 671n })).kind).toBe("budget_exceeded");
    await books.settle(settled, { units: 40 });
    await books.release(released);
    const tooMuch = await books.hold(given, { amountMicros: 931n });
    expect(tooMuch).toEqual({ kind: "budget_exceeded", budget, spentMicros: 40n, heldMicros: 30n });
    await books.restart();
    expect(await books.settle(left, { units: 30 })).toMatchObject({ first: false, state: "released" });
    expect(await useOf(books, given, "total", middayMs)).toEqual({ spentMicros: 40n, heldMicros: 0n });
  });

  budgetTest("a call that did not know of its key's new budget counts in it", async (books) => {
    const caller = await books.openCaller();
    await books.settle(await books.held(caller), { units: 5 });
    const budget = { limitMicros: 100n, window: "month" } as const;
    const given = await giveBudget(books, caller, budget);
    const unaware = await books.held(caller, { amountMicros: 60n });
    const tooMuch = await books.hold(given, { amountMicros: 36n });
    expect(tooMuch).toEqual({ kind: "budget_exceeded", budget, spentMicros: 5n, heldMicros: 60n });
    await books.settle(unaware, { units: 50 });
    expect(await useOf(books, given, "month", middayMs)).toEqual({ spentMicros: 55n, heldMicros: 0n });
  });

  budgetTest("a budget taken away and given again counts what was spent without it", async (books) => {
    const caller = await books.openCaller({ budget: { limitMicros: 100n, window: "total" } });
    await books.settle(await books.held(caller), { units: 60 });
    await books.store().keys.update(caller.keyId, { budget: null });
    const without = { ...caller, budget: undefined };
    await books.settle(await books.held(without), { units: 100 });
    const budget = { limitMicros: 200n, window: "month" } as const;
    const given = await giveBudget(books, caller, budget);
    const tooMuch = await books.hold(given, { amountMicros: 41n });
    expect(tooMuch).toEqual({ kind: "budget_exceeded", budget, spentMicros: 160n, heldMicros: 0n });
    await books.held(given, { amountMicros: 40n });
  });

  budgetTest(
    "what a key had spent before its first budget counts in the day it was charged",
    async (books) => {
      const caller = await books.openCaller();
      const midnightMs = Date.UTC(2026, 9, 21);
      const [before, across] = [
        await books.held(caller, { atMs: midnightMs - 2 }),
        await books.held(caller, { atMs: midnightMs - 2 }),
      ];
      await books.settle(before, { units: 10 }, { atMs: midnightMs - 1 });
      await books.settle(across, { units: 3 }, { atMs: midnightMs });
      const given = await giveBudget(books, caller, { limitMicros: 100n, window: "day" });
      expect(await useOf(books, given, "day", midnightMs - 1)).toEqual({ spentMicros: 10n, heldMicros: 0n });
      expect(await useOf(books, given, "day", midnightMs)).toEqual({ spentMicros: 3n, heldMicros: 0n });
    },
  );

  budgetTest("what ends after a payment counts in its budget as what it cost, and no more", async (books) => {
    const budget = { limitMicros: 300n, window: "day" } as const;
    const caller = await books.openCaller({ budget });
    const callId = await books.held(caller);
    const { accountId } = caller;
    await books.store().accounts.topUp({ transferId: "t1", accountId, amountMicros: 1n, nowMs: middayMs });
    await books.settle(callId, { units: 30 });
    const tooMuch = await books.hold(caller, { amountMicros: 271n });
    expect(tooMuch).toEqual({ kind: "budget_exceeded", budget, spentMicros: 30n, heldMicros: 0n });
    await books.held(caller, { amountMicros: 270n });
  });

  budgetTest("each key of an account has its own budget; the balance is shared", async (books) => {
    const one = await books.openCaller({ creditMicros: 250n, budget: { limitMicros: 100n, window: "day" } });
    const two = await books.openKey(one, { budget: { limitMicros: 500n, window: "day" } });
    await books.held(one);
    expect((await books.hold(one, { amountMicros: 1n })).kind).toBe("budget_exceeded");
    await books.held(two);
    expect((await books.hold(two)).kind).toBe("insufficient_balance");
    expect(await useOf(books, two, "day", middayMs)).toEqual({ spentMicros: 0n, heldMicros: 100n });
  });

  budgetTest("what was used above a hold is not spent from the budget", async (books) => {
    const caller = await books.openCaller({ budget: { limitMicros: 1_000n, window: "day" } });
    await books.settle(await books.held(caller), { units: 5_000 });
    expect(await useOf(books, caller, "day", middayMs)).toEqual({ spentMicros: 100n, heldMicros: 0n });
  });
}

/** The same caller, as whoever asks for its key's credential from now on knows it. */
async function giveBudget(books: TestBooks, caller: Caller, budget: Budget): Promise<Caller> {
  await books.store().keys.update(caller.keyId, { budget });
  return { ...caller, budget };
}
