// For tests of the audit: books with everything in them.

import { expect } from "bun:test";
import type { Budget } from "../keys/keys.ts";
import { unbound } from "../ledger/test-unbound.ts";
import type { Store } from "../store/store.ts";
import type { Quantities } from "../prices/quantities.ts";
import { createTerms, valuePico, type Terms } from "../prices/terms.ts";

export const rerank = createTerms("rerank.create", "ranker", { input_tokens: 50_000n });
export const chatTerms = createTerms("chat.completions.create", "talker", {
  input_tokens: 2_500_000n,
  cache_read_tokens: 250_000n,
  cache_write_1h_tokens: 5_000_001n,
  output_tokens: 10_000_000n,
});
export const snapshotTerms = createTerms("financial.metrics.snapshot", undefined, { call: 48_000_000_000n });

export const minute = 60_000;
export const day = 86_400_000;
export const startMs = Date.UTC(2026, 2, 14, 23, 58, 30);

/** Books with everything in them: grants, payments, corrections, every ending of a call, and one that has none yet. */
export async function keepBooks(openStore: () => Promise<Store>): Promise<void> {
  const store = await openStore();
  const plain = { tier: "free", planMultiplierPpm: 1_000_000n, creditMicros: 0n, nowMs: startMs } as const;
  await store.accounts.create({ ...plain, id: "acc_a", name: "A", creditMicros: 2_000_000n });
  await store.accounts.create({ ...plain, id: "acc_b", name: "B", planMultiplierPpm: 850_000n });
  await store.accounts.create({ ...plain, id: "acc_empty", name: "Empty" });
  await store.accounts.topUp({
    transferId: "pay_1",
    accountId: "acc_a",
    amountMicros: 10_000_000n,
    nowMs: startMs,
  });
  await store.accounts.topUp({
    transferId: "pay_2",
    accountId: "acc_a",
    amountMicros: 500_000_000n,
    nowMs: startMs,
  });
  await store.accounts.topUp({
    transferId: "pay_3",
    accountId: "acc_b",
    amountMicros: 3_000_000n,
    nowMs: startMs,
  });
  for (const [transferId, amountMicros] of [
    ["fix_1", -1_500_000n],
    ["fix_2", 250_000n],
  ] as const) {
    await store.accounts.adjust({
      transferId,
      accountId: "acc_a",
      amountMicros,
      reason: "test",
      nowMs: startMs,
    });
  }

  const daily: Budget = { limitMicros: 1_000_000n, window: "day" };
  for (const [id, accountId, budget] of [
    ["key_a", "acc_a", undefined],
    ["key_day", "acc_a", daily],
    ["key_b", "acc_b", undefined],
  ] as const) {
    const secretHash = new TextEncoder().encode(id);
    const key = {
      id,
      accountId,
      name: id,
      scope: "key",
      budget,
      expiresAtMs: undefined,
      last4: "0000",
    } as const;
    await store.keys.issue({ ...key, secretHash, nowMs: startMs });
  }

  await store.ledger.recordPrices([
    { operationId: "rerank.create", model: "ranker", terms: rerank },
    { operationId: "chat.completions.create", model: "talker", terms: chatTerms },
    { operationId: "financial.metrics.snapshot", model: undefined, terms: snapshotTerms },
  ]);
  await store.ledger.beginRun(startMs);
  const { hold, settle, release } = callsOn(store);

  // One token costs 0.05 micro: thirty of them leave a carry behind, on both accounts.
  await Promise.all(
    Array.from({ length: 30 }, async (_, n) => {
      await hold(`rank_a${n}`, "key_a", rerank, 10n);
      await hold(`rank_b${n}`, "key_b", rerank, 10n);
      store.ledger.markDispatched(`rank_a${n}`, startMs);
      await settle(`rank_a${n}`, rerank, { input_tokens: 1 + n }, startMs + n * 5_000);
      await settle(`rank_b${n}`, rerank, { input_tokens: 1 }, startMs + n * 5_000);
    }),
  );
  await hold("chat_1", "key_a", chatTerms, 90_000n);
  await settle(
    "chat_1",
    chatTerms,
    { input_tokens: 1_001, cache_read_tokens: 77, output_tokens: 333 },
    startMs + minute,
  );
  await hold("chat_2", "key_a", chatTerms, 90_000n);
  await settle("chat_2", chatTerms, { cache_write_1h_tokens: 13, output_tokens: 400 }, startMs + minute + 1);
  await hold("snap_1", "key_day", snapshotTerms, 48_000n);
  await settle("snap_1", snapshotTerms, { call: 1 }, startMs + 10);
  await hold("snap_2", "key_day", snapshotTerms, 48_000n, startMs + day);
  await settle("snap_2", snapshotTerms, { call: 1 }, startMs + day);
  await hold("above", "key_b", chatTerms, 1_000n);
  await settle("above", chatTerms, { output_tokens: 250 }, startMs + 2 * minute);
  await hold("refused", "key_a", snapshotTerms, 48_000n);
  await release("refused", startMs + 3 * minute);
  await hold("refused_day", "key_day", snapshotTerms, 48_000n);
  await release("refused_day", startMs + 3 * minute);
  await hold("lost", "key_b", snapshotTerms, 48_000n);
  await store.close();

  // A second run: the call the first one left open is given back, and two are under way when we look.
  const again = await openStore();
  await again.ledger.beginRun(startMs + day);
  await callsOn(again).hold("open", "key_a", snapshotTerms, 48_000n, startMs + day);
  await callsOn(again).hold("open_day", "key_day", snapshotTerms, 48_000n, startMs + day);
  again.ledger.markDispatched("open_day", startMs + day);
  await again.close();
}

export function callsOn(store: Store) {
  const accountOf = (keyId: string): string => (keyId === "key_b" ? "acc_b" : "acc_a");
  const evidence = { usageSource: "provider", httpStatus: 200, attempts: [] } as const;
  return {
    hold: async (callId: string, keyId: string, terms: Terms, amountMicros: bigint, atMs = startMs) => {
      const [operationId, model] =
        terms === rerank
          ? (["rerank.create", "ranker"] as const)
          : terms === chatTerms
            ? (["chat.completions.create", "talker"] as const)
            : (["financial.metrics.snapshot", undefined] as const);
      const held = await store.ledger.hold({
        callId,
        accountId: accountOf(keyId),
        keyId,
        operationId,
        model,
        amountMicros,
        terms,
        multiplierPpm: keyId === "key_b" ? 850_000n : 1_000_000n,
        createdAtMs: atMs,
        ...unbound,
        budget: (await store.keys.find(keyId))?.budget,
      });
      expect(held).toEqual({ kind: "held" });
    },
    settle: (callId: string, terms: Terms, used: Quantities, settledAtMs: number) =>
      store.ledger.settle({
        ...evidence,
        callId,
        outcome: "succeeded",
        used,
        valuePico: valuePico(used, terms),
        settledAtMs,
      }),
    release: (callId: string, settledAtMs: number) =>
      store.ledger.release({ callId, outcome: "failed", httpStatus: 500, attempts: [], settledAtMs }),
  };
}
