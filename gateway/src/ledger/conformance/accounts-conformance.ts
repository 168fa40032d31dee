import { expect, test } from "bun:test";
import type { AccountChange } from "../accounts.ts";
import { middayMs, withBooks, type TestBooks, type Caller, type OpenStore } from "./shared-conformance.ts";

const payment = (caller: Caller, transferId: string, amountMicros: bigint) => ({
  transferId,
  accountId: caller.accountId,
  amountMicros,
  nowMs: middayMs,
});

/** What every account book must do. */
export function accountsConformance(openStore: OpenStore): void {
  const accountTest = (name: string, run: (books: TestBooks) => Promise<void>): void =>
    test(name, () => withBooks(openStore, run));

  accountTest("a new account has its grant, and a grant raises no tier", async (books) => {
    const { accountId } = await books.openCaller({ creditMicros: 600_000_000n, multiplierPpm: 900_000n });
    expect(await books.store().accounts.find(accountId)).toMatchObject({
      id: accountId,
      name: "test",
      tier: "free",
      planMultiplierPpm: 900_000n,
      suspended: false,
      postedMicros: 600_000_000n,
      heldMicros: 0n,
      toppedUpMicros: 0n,
      createdAtMs: middayMs,
    });
    expect(await books.store().accounts.find("acc_nobody")).toBeUndefined();
  });

  accountTest("an account may begin with nothing", async (books) => {
    const caller = await books.openCaller({ creditMicros: 0n });
    expect(await books.balance(caller)).toEqual({ posted: 0n, held: 0n });
  });

  accountTest(
    "a payment books once, however often and however concurrently it is repeated",
    async (books) => {
      const caller = await books.openCaller({ creditMicros: 0n });
      const { accounts } = books.store();
      await Promise.all(Array.from({ length: 20 }, () => accounts.topUp(payment(caller, "t1", 500n))));
      await accounts.topUp(payment(caller, "t2", 7n));
      await books.reopen();
      const again = await books.store().accounts.topUp(payment(caller, "t1", 500n));
      expect(again).toMatchObject({ postedMicros: 507n, toppedUpMicros: 507n });
      expect(await books.balance(caller)).toEqual({ posted: 507n, held: 0n });
    },
  );

  accountTest("a payment is found as it was booked first, with its reference", async (books) => {
    const [caller, other] = [
      await books.openCaller({ creditMicros: 0n }),
      await books.openCaller({ creditMicros: 0n }),
    ];
    const { accounts } = books.store();
    await accounts.topUp({ ...payment(caller, "t1", 500n), reference: "invoice 7" });
    await accounts.topUp({ ...payment(caller, "t1", 900n), nowMs: middayMs + 5, reference: "invoice 8" });
    await accounts.topUp(payment(other, "t2", 3n));
    expect(await accounts.findPayment(caller.accountId, "t1")).toEqual({
      amountMicros: 500n,
      reference: "invoice 7",
      bookedAtMs: middayMs,
    });
    expect(await accounts.findPayment(other.accountId, "t2")).toEqual({
      amountMicros: 3n,
      reference: undefined,
      bookedAtMs: middayMs,
    });
    expect(await accounts.findPayment(other.accountId, "t1")).toBeUndefined();
    expect(await accounts.findPayment(caller.accountId, "t3")).toBeUndefined();
    const ledger = await accounts.entries(caller.accountId, { limit: 5, before: undefined });
    expect(ledger).toMatchObject({ entries: [{ id: "t1", kind: "top_up", reason: "invoice 7" }] });
  });

  accountTest(
    "paying raises the tier: the first payment to Starter, 500 USD in all to Growth",
    async (books) => {
      const caller = await books.openCaller({ creditMicros: 0n });
      const { accounts } = books.store();
      expect((await accounts.topUp(payment(caller, "t1", 1n)))?.tier).toBe("starter");
      expect((await accounts.topUp(payment(caller, "t2", 499_999_998n)))?.tier).toBe("starter");
      expect((await accounts.topUp(payment(caller, "t3", 1n)))?.tier).toBe("growth");
    },
  );

  accountTest("paying never lowers a tier that was granted", async (books) => {
    const caller = await books.openCaller({ tier: "enterprise" });
    const topped = await books.store().accounts.topUp(payment(caller, "t1", 1n));
    expect(topped?.tier).toBe("enterprise");
  });

  accountTest("a correction is booked once, in either direction, and is no payment", async (books) => {
    const caller = await books.openCaller({ creditMicros: 100n });
    const correct = (transferId: string, amountMicros: bigint) =>
      books.store().accounts.adjust({ ...payment(caller, transferId, amountMicros), reason: "goodwill" });
    expect(await correct("c1", 50n)).toMatchObject({ postedMicros: 150n, toppedUpMicros: 0n, tier: "free" });
    expect(await correct("c1", 50n)).toMatchObject({ postedMicros: 150n });
    expect(await correct("c2", -150n)).toMatchObject({ postedMicros: 0n });
  });

  accountTest("no correction takes what a running call holds", async (books) => {
    const caller = await books.openCaller({ creditMicros: 100n });
    await books.held(caller, { amountMicros: 60n });
    const taking = { ...payment(caller, "c1", -41n), reason: "chargeback" };
    expect(await books.store().accounts.adjust(taking)).toEqual({
      refused: "insufficient_balance",
      availableMicros: 40n,
    });
    expect(await books.balance(caller)).toEqual({ posted: 100n, held: 60n });
    const fitting = await books.store().accounts.adjust({ ...taking, amountMicros: -40n });
    expect(fitting).toMatchObject({ postedMicros: 60n, heldMicros: 60n });
  });

  accountTest("money for an account nobody opened is not booked", async (books) => {
    const entries = await books.entries();
    const nobody = { transferId: "t1", accountId: "acc_nobody", amountMicros: 5n, nowMs: middayMs };
    expect(await books.store().accounts.topUp(nobody)).toBeUndefined();
    expect(await books.store().accounts.adjust({ ...nobody, reason: "r" })).toBeUndefined();
    expect(await books.store().accounts.update("acc_nobody", { suspended: true })).toBeUndefined();
    expect(await books.entries()).toBe(entries);
  });

  accountTest("a change touches what it names and nothing else", async (books) => {
    const { accountId } = await books.openCaller({ multiplierPpm: 1_450_000n });
    const { accounts } = books.store();
    const before = await accounts.find(accountId);
    expect(await accounts.update(accountId, {})).toEqual(before);
    const suspended = await accounts.update(accountId, { suspended: true });
    expect(suspended).toEqual({ ...before, suspended: true } as typeof before);
    const raised = await accounts.update(accountId, { tier: "growth", planMultiplierPpm: 1n });
    expect(raised).toMatchObject({ tier: "growth", planMultiplierPpm: 1n, suspended: true });
    const renamed = await accounts.update(accountId, { name: "another" });
    expect(renamed).toEqual({ ...raised, name: "another" } as typeof raised);
  });

  accountTest(
    "granted limits are set one by one, changed, kept by other changes, and taken back",
    async (books) => {
      const { accountId } = await books.openCaller();
      const { accounts } = books.store();
      const grantedAfter = async (change: AccountChange) =>
        (await accounts.update(accountId, change))?.grantedLimits;
      expect(await grantedAfter({ grantedLimits: { rpm: 5_000, tpm: 9_000_000 } })).toEqual({
        rpm: 5_000,
        tpm: 9_000_000,
      });
      expect(await grantedAfter({ grantedLimits: { rpm: 100, concurrency: 7 } })).toEqual({
        rpm: 100,
        tpm: 9_000_000,
        concurrency: 7,
      });
      expect(await grantedAfter({ name: "another" })).toEqual({ rpm: 100, tpm: 9_000_000, concurrency: 7 });
      expect(await grantedAfter({ grantedLimits: null })).toEqual({});
      await books.reopen();
      expect((await books.store().accounts.find(accountId))?.grantedLimits).toEqual({});
    },
  );

  accountTest("amounts beyond what a float holds stay exact", async (books) => {
    const exact = 9_007_199_254_740_993n;
    const caller = await books.openCaller({ creditMicros: exact });
    expect(await books.balance(caller)).toEqual({ posted: exact, held: 0n });
    await books.held(caller, { amountMicros: exact });
    expect(await books.balance(caller)).toEqual({ posted: exact, held: exact });
  });

  accountTest("accounts are listed, oldest first", async (books) => {
    const opened = [await books.openCaller(), await books.openCaller(), await books.openCaller()];
    const listed = (await books.store().accounts.list()).map(({ id }) => id);
    expect(listed).toEqual(opened.map(({ accountId }) => accountId));
  });
}
