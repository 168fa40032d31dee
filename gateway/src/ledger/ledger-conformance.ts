// What every ledger must do, whatever it is stored in. A second kind of store runs these very tests.

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { keysConformance } from "../keys/keys-conformance.ts";
import { linksConformance } from "../links/links-conformance.ts";
import type { Budget, BudgetWindow } from "../keys/keys.ts";
import { createTerms, valuePico } from "../operation/terms.ts";
import { attoPerMicro } from "../platform/money.ts";
import { usageConformance } from "../usage/usage-conformance.ts";
import { accountsConformance } from "./accounts-conformance.ts";
import { entriesConformance } from "./entries-conformance.ts";
import type { Resolved } from "./ledger.ts";
import { modelConformance } from "./model-conformance.ts";
import { receiptsConformance } from "./receipts-conformance.ts";
import {
  failureOf,
  middayMs,
  operationId,
  propertyRuns,
  releaseOf,
  settlementOf,
  terms,
  withBooks,
  type Books,
  type Caller,
  type OpenStore,
} from "./shared-conformance.ts";

export function ledgerConformance(name: string, openStore: OpenStore): void {
  describe(`${name}: holding`, () => holding(openStore));
  describe(`${name}: ending`, () => ending(openStore));
  describe(`${name}: rounding`, () => rounding(openStore));
  describe(`${name}: budgets`, () => budgets(openStore));
  describe(`${name}: idempotency keys`, () => idempotency(openStore));
  describe(`${name}: a new run`, () => runs(openStore));
  describe(`${name}: accounts`, () => accountsConformance(openStore));
  describe(`${name}: entries`, () => entriesConformance(openStore));
  describe(`${name}: keys`, () => keysConformance(openStore));
  describe(`${name}: links`, () => linksConformance(openStore));
  describe(`${name}: receipts`, () => receiptsConformance(openStore));
  describe(`${name}: usage`, () => usageConformance(openStore));
  describe(`${name}: model`, () => modelConformance(openStore));
}

function holding(openStore: OpenStore): void {
  const holdingTest = (name: string, run: (books: Books) => Promise<void>): void =>
    test(name, () => withBooks(openStore, run));

  test("nothing can be held before the run has begun", () =>
    withBooks(
      openStore,
      async (books) => {
        const caller = await books.openCaller();
        await books.store().ledger.recordPrices([{ operationId, model: undefined, terms }]);
        expect(await failureOf(books.hold(caller))).toContain("before the run has begun");
        expect(await books.balance(caller)).toEqual({ posted: 1_000_000n, held: 0n });
      },
      { begin: false },
    ));

  holdingTest("a hold keeps its amount from other calls and posts nothing", async (books) => {
    const caller = await books.openCaller({ creditMicros: 1_000n });
    await books.held(caller, { amountMicros: 400n });
    expect(await books.balance(caller)).toEqual({ posted: 1_000n, held: 400n });
    expect(await books.hold(caller, { amountMicros: 601n })).toEqual({
      kind: "insufficient_balance",
      availableMicros: 600n,
    });
  });

  holdingTest("the balance can be held to its last micro, and not one more", async (books) => {
    const caller = await books.openCaller({ creditMicros: 1_000n });
    await books.held(caller, { amountMicros: 1_000n });
    const refused = await books.hold(caller, { amountMicros: 1n });
    expect(refused).toEqual({ kind: "insufficient_balance", availableMicros: 0n });
    await books.held(caller, { amountMicros: 0n });
    expect(await books.balance(caller)).toEqual({ posted: 1_000n, held: 1_000n });
  });

  holdingTest("a refused hold changes nothing: no call, no money, no budget", async (books) => {
    const budget: Budget = { limitMicros: 5_000n, window: "day" };
    const caller = await books.openCaller({ creditMicros: 99n, budget });
    expect((await books.hold(caller, { callId: "call_x" })).kind).toBe("insufficient_balance");
    expect(await books.balance(caller)).toEqual({ posted: 99n, held: 0n });
    expect(await books.store().calls.find(caller.accountId, "call_x")).toBeUndefined();
    expect(await useOf(books, caller, "day", middayMs)).toEqual({ spentMicros: 0n, heldMicros: 0n });
  });

  holdingTest(
    "what would be held is told as a hold tells it, and nothing is held by asking",
    async (books) => {
      const budget: Budget = { limitMicros: 500n, window: "day" };
      const caller = await books.openCaller({ creditMicros: 1_000n, budget });
      await books.held(caller, { amountMicros: 450n, idempotency: claimOf("k") });
      const before = await books.balance(caller);
      for (const wanted of [
        { amountMicros: 50n },
        { amountMicros: 51n },
        { amountMicros: 551n },
        { amountMicros: 50n, idempotency: claimOf("k") },
        { amountMicros: 551n, idempotency: claimOf("k", "another") },
      ]) {
        const told = await books.wouldHold(caller, { ...wanted, callId: "call_x" });
        expect(await books.balance(caller)).toEqual(before);
        expect(await useOf(books, caller, "day", middayMs)).toEqual({ spentMicros: 0n, heldMicros: 450n });
        expect(await books.store().calls.find(caller.accountId, "call_x")).toBeUndefined();
        const callId = books.newId("call");
        expect(told).toEqual(await books.hold(caller, { ...wanted, callId }));
        await books.release(callId);
      }
      await books.store().accounts.update(caller.accountId, { suspended: true });
      expect(await books.wouldHold(caller)).toEqual({ kind: "account_suspended" });
    },
  );

  holdingTest("a hold refused for want of money can be asked again under its id", async (books) => {
    const caller = await books.openCaller({ creditMicros: 99n });
    expect((await books.hold(caller, { callId: "call_x" })).kind).toBe("insufficient_balance");
    const transfer = { transferId: "t1", accountId: caller.accountId, nowMs: middayMs };
    await books.store().accounts.topUp({ ...transfer, amountMicros: 1n });
    expect(await books.hold(caller, { callId: "call_x" })).toEqual({ kind: "held" });
  });

  holdingTest("an account nobody opened has nothing to hold", async (books) => {
    const caller = await books.openCaller();
    const stranger = { ...caller, accountId: "acc_nobody" };
    const refused = { kind: "insufficient_balance", availableMicros: 0n } as const;
    expect(await books.hold(stranger)).toEqual(refused);
  });

  holdingTest("a suspended account holds nothing new, and its open calls still end", async (books) => {
    const caller = await books.openCaller({ creditMicros: 1_000n });
    const callId = await books.held(caller);
    await books.store().accounts.update(caller.accountId, { suspended: true });
    expect(await books.hold(caller)).toEqual({ kind: "account_suspended" });
    expect(await books.hold(caller, { amountMicros: 0n })).toEqual({ kind: "account_suspended" });
    expect(await books.settle(callId, { units: 60 })).toMatchObject({ first: true, chargedMicros: 60n });
    await books.store().accounts.update(caller.accountId, { suspended: false });
    expect(await books.hold(caller)).toEqual({ kind: "held" });
  });

  holdingTest("a hold asked twice under one id holds once, also when the call has ended", async (books) => {
    const caller = await books.openCaller({ creditMicros: 1_000n });
    const twice = [books.hold(caller, { callId: "call_x" }), books.hold(caller, { callId: "call_x" })];
    expect(await Promise.all(twice)).toEqual([{ kind: "held" }, { kind: "held" }]);
    expect(await books.balance(caller)).toEqual({ posted: 1_000n, held: 100n });
    await books.settle("call_x", { units: 100 });
    expect(await books.hold(caller, { callId: "call_x" })).toEqual({ kind: "held" });
    expect(await books.balance(caller)).toEqual({ posted: 900n, held: 0n });
  });

  holdingTest("a negative hold is refused", async (books) => {
    const caller = await books.openCaller({ creditMicros: 1_000n });
    expect(await failureOf(books.hold(caller, { amountMicros: -1n }))).toContain("negative");
    expect(await books.balance(caller)).toEqual({ posted: 1_000n, held: 0n });
  });

  holdingTest("nothing is held under terms that were never written down", async (books) => {
    const caller = await books.openCaller({ creditMicros: 1_000n });
    const unrecorded = createTerms("conformance.other", undefined, { units: 1n });
    expect(await failureOf(books.hold(caller, { terms: unrecorded }))).toContain("never written down");
    expect(await books.balance(caller)).toEqual({ posted: 1_000n, held: 0n });
  });

  holdingTest("prices may be recorded again, and a call keeps those it was held under", async (books) => {
    const caller = await books.openCaller({ creditMicros: 1_000n });
    const callId = await books.held(caller);
    const dearer = createTerms(operationId, undefined, { units: 9_000_000n });
    const prices = [terms, dearer, terms].map((one) => ({ operationId, model: undefined, terms: one }));
    await books.store().ledger.recordPrices(prices);
    await books.store().ledger.recordPrices(prices);
    const laterId = await books.held(caller, { terms: dearer });
    await books.settle(callId, { units: 10 });
    await books.store().ledger.settle(settlementOf(laterId, { units: 10 }, { terms: dearer }));
    const [kept, later] = [await books.receipt(caller, callId), await books.receipt(caller, laterId)];
    expect([kept.priceVersion, kept.unitPricesPico["units"], kept.chargedMicros]).toEqual([
      terms.version,
      1_000_000n,
      10n,
    ]);
    expect([later.priceVersion, later.unitPricesPico["units"], later.chargedMicros]).toEqual([
      dearer.version,
      9_000_000n,
      90n,
    ]);
  });

  holdingTest("a call that cannot be booked takes no other call down with it", async (books) => {
    const caller = await books.openCaller({ creditMicros: 1_000n });
    const [settled, released, sent] = [
      await books.held(caller),
      await books.held(caller),
      await books.held(caller),
    ];
    books.store().ledger.markDispatched(sent, middayMs);
    const ends = await Promise.allSettled([
      books.settle(settled, { units: 40, input_tokens: 7 }),
      books.hold(caller),
      books.hold(caller, { amountMicros: -1n }),
      books.release(released),
      books.settle("call_unknown", {}),
      books.hold(caller),
    ]);
    expect(ends.map(({ status }) => status)).toEqual([
      "fulfilled",
      "fulfilled",
      "rejected",
      "fulfilled",
      "rejected",
      "fulfilled",
    ]);
    expect(await books.balance(caller)).toEqual({ posted: 960n, held: 300n });
    await becomes(async () => (await books.receipt(caller, sent)).state, "dispatched");
  });

  for (const callers of [2, 50, 500]) {
    const covered = Math.ceil(callers / 5);
    holdingTest(
      `of ${callers} calls at once on a balance for ${covered}, ${covered} are held`,
      async (books) => {
        const caller = await books.openCaller({ creditMicros: BigInt(covered) * 100n + 99n });
        const ids = Array.from({ length: callers }, () => books.newId("call"));
        const results = await Promise.all(ids.map((callId) => books.hold(caller, { callId })));
        expect(results.filter(({ kind }) => kind === "held")).toHaveLength(covered);
        const refused = results.filter(({ kind }) => kind === "insufficient_balance");
        expect(refused).toHaveLength(callers - covered);
        expect(await books.balance(caller)).toMatchObject({ held: BigInt(covered) * 100n });

        const ended = ids.filter((_, at) => results[at]?.kind === "held");
        await Promise.all(ended.map((callId) => books.settle(callId, { units: 100 })));
        expect(await books.balance(caller)).toEqual({ posted: 99n, held: 0n });
      },
    );
  }
}

function ending(openStore: OpenStore): void {
  const endingTest = (name: string, run: (books: Books) => Promise<void>): void =>
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

function rounding(openStore: OpenStore): void {
  test("twenty calls of one token at 0.05 micro cost one micro together", () =>
    withBooks(openStore, async (books) => {
      const caller = await books.openCaller();
      const charges: bigint[] = [];
      for (let call = 0; call < 20; call++) {
        const callId = await books.held(caller, { amountMicros: 1n });
        charges.push((await books.settle(callId, { input_tokens: 1 })).chargedMicros);
        if (call === 9) await books.restart();
      }
      expect(charges.reduce((sum, charge) => sum + charge, 0n)).toBe(1n);
      expect(charges.at(-1)).toBe(1n);
    }));

  test("what an account owes is exact over its lifetime, whatever the calls, the plan and their order", () =>
    withBooks(openStore, async (books) => {
      const used = fc.record({
        input_tokens: fc.nat({ max: 5_000 }),
        output_tokens: fc.nat({ max: 100 }),
        cache_read_tokens: fc.nat({ max: 1_000_000 }),
        cache_write_1h_tokens: fc.nat({ max: 3 }),
      });
      const multiplier = fc.constantFrom(1_000_000n, 1_450_000n, 333_333n, 1n, 0n);
      await fc.assert(
        fc.asyncProperty(fc.array(used, { maxLength: 12 }), multiplier, async (calls, multiplierPpm) => {
          const caller = await books.openCaller({ multiplierPpm });
          const other = await books.openCaller({ multiplierPpm });
          let exactAtto = 0n;
          let charged = 0n;
          let value = 0n;
          for (const one of calls) {
            const callId = await books.held(caller, { amountMicros: 60_000n });
            const callAtto = valuePico(one, terms) * multiplierPpm;
            // Another account's remainder must not leak into this one.
            await books.settle(await books.held(other, { amountMicros: 1n }), { input_tokens: 7 });
            const resolved = await books.settle(callId, one);
            const off = resolved.chargedMicros * attoPerMicro - callAtto;
            expect(off < attoPerMicro && off > -attoPerMicro).toBe(true);
            exactAtto += callAtto;
            charged += resolved.chargedMicros;
            value += resolved.valueMicros;
          }
          expect(charged).toBe(exactAtto / attoPerMicro);
          const exactValue = calls.reduce((sum, one) => sum + valuePico(one, terms), 0n);
          expect(value).toBe(exactValue / 1_000_000n);
        }),
        { numRuns: propertyRuns(20) },
      );
    }));
}

const useOf = (books: Books, caller: Caller, window: BudgetWindow, atMs: number) =>
  books.store().keys.budgetUse(caller.keyId, window, atMs);

function budgets(openStore: OpenStore): void {
  const budgetTest = (name: string, run: (books: Books) => Promise<void>): void =>
    test(name, () => withBooks(openStore, run));

  for (const window of ["day", "month", "total"] as const) {
    budgetTest(
      `a ${window} budget fits to its last micro, then tells what is spent and held`,
      async (books) => {
        const caller = await books.openCaller({ budget: { limitMicros: 300n, window } });
        const spent = await books.held(caller);
        await books.settle(spent, { units: 80 });
        await books.held(caller, { amountMicros: 100n });
        const tooMuch = await books.hold(caller, { amountMicros: 121n });
        expect(tooMuch).toEqual({ kind: "budget_exceeded", spentMicros: 80n, heldMicros: 100n });
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
        const caller = await books.openCaller({ budget: { limitMicros: 200n, window } });
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
      expect(refused).toEqual({ kind: "budget_exceeded", spentMicros: 0n, heldMicros: 500n });
      expect(await books.settle(callId, { units: 500 })).toMatchObject({ chargedMicros: 500n });
      const spent = await books.hold(caller, { budget, amountMicros: 0n });
      expect(spent).toEqual({ kind: "budget_exceeded", spentMicros: 500n, heldMicros: 0n });
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
    expect(tooMuch).toEqual({ kind: "budget_exceeded", spentMicros: 900n, heldMicros: 40n });
    const rest = await books.held(caller, { atMs: tenthMs, budget: month, amountMicros: 60n });
    // What began under one window ends in all of them.
    await books.settle(open, { units: 30 }, { atMs: tenthMs });
    expect(await books.hold(caller, { atMs: tenthMs, budget: day, amountMicros: 11n })).toEqual({
      kind: "budget_exceeded",
      spentMicros: 30n,
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
      spentMicros: 930n,
      heldMicros: 170n,
    });
    expect(await useOf(books, caller, "month", tenthMs)).toEqual({ spentMicros: 930n, heldMicros: 0n });
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

const claimOf = (key: string, request = "request") => ({
  keyHash: new TextEncoder().encode(key),
  fingerprint: new TextEncoder().encode(request),
});

function idempotency(openStore: OpenStore): void {
  const keyTest = (name: string, run: (books: Books) => Promise<void>): void =>
    test(name, () => withBooks(openStore, run));
  const dayMs = 86_400_000;

  keyTest("of 50 calls at once with one key, one is held and 49 are told which", async (books) => {
    const caller = await books.openCaller({ creditMicros: 10_000n });
    const asked = Array.from({ length: 50 }, () => books.hold(caller, { idempotency: claimOf("k") }));
    const results = await Promise.all(asked);
    expect(results.filter(({ kind }) => kind === "held")).toHaveLength(1);
    const conflicts = results.filter((result) => result.kind === "idempotency_conflict");
    expect(conflicts).toHaveLength(49);
    expect(new Set(conflicts.map(({ earlier }) => earlier.callId)).size).toBe(1);
    expect(await books.balance(caller)).toMatchObject({ held: 100n });
  });

  keyTest("whoever repeats a key learns how the first call stands and what it cost", async (books) => {
    const caller = await books.openCaller();
    const callId = await books.held(caller, { idempotency: claimOf("k") });
    const again = (request?: string) => books.hold(caller, { idempotency: claimOf("k", request) });
    const open = { callId, sameRequest: true, state: "held", outcome: undefined, chargedMicros: 0n } as const;
    expect(await again()).toEqual({ kind: "idempotency_conflict", earlier: open });
    await books.settle(callId, { units: 70 });
    const ended = { ...open, state: "settled", outcome: "succeeded", chargedMicros: 70n } as const;
    expect(await again()).toEqual({ kind: "idempotency_conflict", earlier: ended });
    const other = await again("another body");
    expect(other).toEqual({ kind: "idempotency_conflict", earlier: { ...ended, sameRequest: false } });
    const found = await books.store().ledger.findEarlier(caller.accountId, claimOf("k"), middayMs);
    expect(found).toEqual(ended);
  });

  keyTest("a key whose call ended before anybody looked is taken all the same", async (books) => {
    const caller = await books.openCaller();
    const callId = await books.held(caller, { idempotency: claimOf("k") });
    await books.settle(callId, { units: 70 });
    const again = await books.hold(caller, { idempotency: claimOf("k") });
    expect(again).toMatchObject({ kind: "idempotency_conflict", earlier: { callId, state: "settled" } });
  });

  keyTest("a refused hold leaves its key free", async (books) => {
    const caller = await books.openCaller({ creditMicros: 99n });
    expect((await books.hold(caller, { idempotency: claimOf("k") })).kind).toBe("insufficient_balance");
    expect(await books.store().ledger.findEarlier(caller.accountId, claimOf("k"), middayMs)).toBeUndefined();
    await books.held(caller, { idempotency: claimOf("k"), amountMicros: 99n });
  });

  keyTest("a key belongs to its account", async (books) => {
    const [one, two] = [await books.openCaller(), await books.openCaller()];
    await books.held(one, { idempotency: claimOf("k") });
    await books.held(two, { idempotency: claimOf("k") });
    expect((await books.hold(await books.openKey(one), { idempotency: claimOf("k") })).kind).toBe(
      "idempotency_conflict",
    );
  });

  keyTest("a call that certainly never happened frees its key; any other end keeps it", async (books) => {
    const caller = await books.openCaller();
    const freed = { accountId: caller.accountId, keyHash: claimOf("k").keyHash };
    const never = await books.held(caller, { idempotency: claimOf("k") });
    await books.store().ledger.release({ ...releaseOf(never), freed });
    const failed = await books.held(caller, { idempotency: claimOf("k") });
    // The first call's late second end must not free the key of the call that has it now.
    await books.store().ledger.release({ ...releaseOf(never), freed });
    await books.release(failed);
    const conflict = await books.hold(caller, { idempotency: claimOf("k") });
    expect(conflict).toMatchObject({ earlier: { callId: failed, state: "released", outcome: "failed" } });
  });

  keyTest("a key outlives a crash, for a day after its call ended", async (books) => {
    const caller = await books.openCaller();
    const callId = await books.held(caller, { idempotency: claimOf("k") });
    const endedMs = middayMs + 5 * dayMs;
    await books.restart(endedMs);
    const ask = (atMs: number) => books.store().ledger.findEarlier(caller.accountId, claimOf("k"), atMs);
    expect(await ask(endedMs + dayMs - 1)).toMatchObject({ callId, outcome: "unknown" });
    await books.restart(endedMs + dayMs - 1);
    expect(await ask(endedMs + dayMs - 1)).toMatchObject({ callId, outcome: "unknown" });
    expect(await ask(endedMs + dayMs)).toBeUndefined();
    const later = await books.held(caller, { idempotency: claimOf("k"), atMs: endedMs + dayMs });
    expect(await ask(endedMs + dayMs)).toMatchObject({ callId: later });
    await books.restart(endedMs + 3 * dayMs);
    expect(await ask(endedMs + 3 * dayMs)).toMatchObject({ callId: later });
  });
}

function runs(openStore: OpenStore): void {
  const runTest = (name: string, run: (books: Books) => Promise<void>): void =>
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
    expect(recovery).toEqual({ releasedCalls: 2, releasedMicros: 350n, settledCalls: 0, lostTasks: 0 });
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
      const recovery = await books.restart();
      expect(recovery).toMatchObject({ releasedCalls: 1, settledCalls: 2, lostTasks: 0 });
      const settled = { state: "settled", outcome: "unknown", usageSource: "estimated" } as const;
      expect(await books.receipt(caller, short)).toMatchObject({ ...settled, chargedMicros: 40n });
      expect(await books.receipt(caller, long)).toMatchObject({
        ...settled,
        chargedMicros: 100n,
        writtenOffMicros: 300n,
      });
      expect(await books.balance(caller)).toEqual({ posted: 9_860n, held: 0n });
    },
  );

  runTest(
    "a stream whose end nobody could tell is charged for what it had delivered, and any other call for nothing",
    async (books) => {
      const caller = await books.openCaller({ creditMicros: 1_000n });
      const [early, late, failed, silent] = [
        await books.held(caller),
        await books.held(caller),
        await books.held(caller),
        await books.held(caller),
      ];
      const { ledger } = books.store();
      ledger.noteProgress(early, { units: 10 });
      // Whoever reads the balance has what was noted until then posted.
      expect(await books.balance(caller)).toEqual({ posted: 1_000n, held: 400n });
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
      expect(await books.balance(caller)).toEqual({ posted: 970n, held: 0n });
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
    expect(await books.restart()).toEqual({
      releasedCalls: 0,
      releasedMicros: 0n,
      settledCalls: 0,
      lostTasks: 0,
    });
    await books.held(caller);
    expect(await books.restart()).toEqual({
      releasedCalls: 1,
      releasedMicros: 100n,
      settledCalls: 0,
      lostTasks: 0,
    });
    expect(await books.restart()).toEqual({
      releasedCalls: 0,
      releasedMicros: 0n,
      settledCalls: 0,
      lostTasks: 0,
    });
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

/** Marks are written when it suits the store, but soon. */
async function becomes(read: () => Promise<string>, wanted: string): Promise<void> {
  for (let tries = 0; tries < 100 && (await read()) !== wanted; tries++) await Bun.sleep(10);
  expect(await read()).toBe(wanted);
}
