// What every ledger must do about holds: nothing is sold without one, and none is more than there is.

import { expect, test } from "bun:test";
import type { Budget } from "../../keys/keys.ts";
import { createTerms } from "../../prices/terms.ts";
import {
  becomes,
  claimOf,
  failureOf,
  middayMs,
  operationId,
  settlementOf,
  terms,
  useOf,
  withBooks,
  type TestBooks,
  type OpenStore,
} from "./shared-conformance.ts";

export function holdsConformance(openStore: OpenStore): void {
  const holdingTest = (name: string, run: (books: TestBooks) => Promise<void>): void =>
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
