// What every ledger must do about idempotency keys: one call for each, and the others are told of it.

import { expect, test } from "bun:test";
import {
  claimOf,
  middayMs,
  releaseOf,
  withBooks,
  type TestBooks,
  type OpenStore,
} from "./shared-conformance.ts";

export function idempotencyConformance(openStore: OpenStore): void {
  const keyTest = (name: string, run: (books: TestBooks) => Promise<void>): void =>
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
    // Nor is its own key free when somebody says so after an end that knew what became of it.
    await books.store().ledger.release({ ...releaseOf(failed), freed });
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
