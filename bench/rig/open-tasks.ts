import { unbound } from "../../gateway/src/ledger/test-unbound.ts";
import { createTerms } from "../../gateway/src/prices/terms.ts";
import { openSqliteStore } from "../../gateway/src/stores/sqlite/sqlite-store.ts";
import { databaseIn, openAccount, plentyMicros } from "./tollgate-server.ts";

/** How many are opened at once, in a few shared commits. */
const atOnce = 500;
const dayMs = 86_400_000;

/** Tasks that a vendor has begun, opened as calls open them. */
export async function openTasks(folder: string, count: number, upstream: string): Promise<void> {
  const store = openSqliteStore({ path: databaseIn(folder) });
  const nowMs = Date.now();
  const terms = createTerms("bench", undefined, { second_720p: 1_000_000n });
  await store.ledger.beginRun(nowMs);
  await store.ledger.recordPrices([{ operationId: "bench", model: undefined, terms }]);
  const owner = await openAccount(store, { creditMicros: plentyMicros, tier: "enterprise" }, nowMs);

  const open = async (): Promise<void> => {
    const taskId = crypto.randomUUID();
    await store.ledger.hold({
      callId: Bun.randomUUIDv7(),
      accountId: owner.accountId,
      keyId: owner.keyId,
      operationId: "bench",
      model: undefined,
      amountMicros: 5n,
      terms,
      multiplierPpm: 1_000_000n,
      createdAtMs: nowMs,
      ...unbound,
      task: { id: taskId, expected: { second_720p: 5 }, deadlineAtMs: nowMs + dayMs, openMax: count },
    });
    await store.tasks.begin({
      taskId,
      upstream,
      upstreamTaskId: `v-${taskId}`,
      state: "PENDING",
      attempts: [],
      askedAtMs: nowMs,
      nextPollAtMs: nowMs,
    });
  };
  for (let left = count; left > 0; left -= atOnce)
    await Promise.all(Array.from({ length: Math.min(atOnce, left) }, open));
  await store.close();
}
