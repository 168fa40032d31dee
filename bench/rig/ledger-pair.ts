// The two writes of a call, with nothing around them.

import { unbound } from "../../gateway/src/ledger/test-unbound.ts";
import type { Store } from "../../gateway/src/store/store.ts";
import { createTerms } from "../../gateway/src/prices/terms.ts";
import { openAccount, plentyMicros, type OpenedAccount } from "./tollgate-server.ts";

export type Owner = Pick<OpenedAccount, "accountId" | "keyId">;

const terms = createTerms("bench", undefined, { call: 1_000_000n });

/** Whose money is moved, and the price it is moved under. */
export async function openOwnersIn(store: Store, count: number): Promise<Owner[]> {
  const options = { creditMicros: plentyMicros, tier: "free" } as const;
  await store.ledger.recordPrices([{ operationId: "bench", model: undefined, terms }]);
  const owners = await Promise.all(
    Array.from({ length: count }, () => openAccount(store, options, Date.now())),
  );
  return owners.map(({ accountId, keyId }) => ({ accountId, keyId }));
}

/** Holds and settles; tells how long the hold took. */
export async function runPair({ ledger }: Store, { accountId, keyId }: Owner): Promise<number> {
  const callId = Bun.randomUUIDv7();
  const startedMs = performance.now();
  const held = await ledger.hold({
    callId,
    accountId,
    keyId,
    operationId: "bench",
    model: undefined,
    amountMicros: 1n,
    terms,
    multiplierPpm: 1_000_000n,
    createdAtMs: Date.now(),
    ...unbound,
  });
  const tookMs = performance.now() - startedMs;
  if (held.kind !== "held") throw new Error(`A hold was refused: ${held.kind}.`);
  await ledger.settle({
    callId,
    outcome: "succeeded",
    used: { call: 1 },
    usageSource: "provider",
    valuePico: 1_000_000n,
    httpStatus: 200,
    attempts: [],
    settledAtMs: Date.now(),
  });
  return tookMs;
}
