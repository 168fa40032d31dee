// How many hold-and-settle cycles a second the ledger books when callers share commits, against one commit for
// each operation, on a disk whose fsync takes a given time. Run by scripts/bench-group-commit.mjs, which
// slows fsync down from outside; this program only counts.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTerms } from "../gateway/src/operation/terms.ts";
import { openSqliteStore } from "../gateway/src/stores/sqlite/sqlite-store.ts";

const callers = Number(process.env["CALLERS"] ?? "64");
const durationMs = Number(process.env["DURATION_MS"] ?? "3000");

const folder = mkdtempSync(join(tmpdir(), "tollgate-bench-"));
let commits = 0;
const store = openSqliteStore({ path: join(folder, "bench.db"), onCommit: () => void commits++ });
const terms = createTerms("bench", undefined, { call: 1_000_000n });
await store.ledger.beginRun(Date.now());
await store.ledger.recordPrices([{ operationId: "bench", model: undefined, terms }]);

const keys = await Promise.all(Array.from({ length: callers }, openKey));
commits = 0;
let cycles = 0;
const startedMs = performance.now();
await Promise.all(keys.map(cycleUntilTimeIsUp));
const seconds = (performance.now() - startedMs) / 1000;

const report = {
  callers,
  cycles_per_second: Math.round(cycles / seconds),
  commits_per_second: Math.round(commits / seconds),
};
process.stdout.write(`${JSON.stringify(report)}\n`);
await store.close();
rmSync(folder, { recursive: true, force: true });

async function openKey(): Promise<{ accountId: string; keyId: string }> {
  const accountId = `acc_${Bun.randomUUIDv7()}`;
  const keyId = `key_${Bun.randomUUIDv7()}`;
  const nowMs = Date.now();
  await store.accounts.create({
    id: accountId,
    name: "bench",
    tier: "free",
    planMultiplierPpm: 1_000_000n,
    creditMicros: 1_000_000_000n,
    nowMs,
  });
  const secretHash = crypto.getRandomValues(new Uint8Array(32));
  await store.keys.issue({
    id: keyId,
    accountId,
    name: "bench",
    scope: "key",
    budget: undefined,
    expiresAtMs: undefined,
    secretHash,
    last4: "0000",
    nowMs,
  });
  return { accountId, keyId };
}

async function cycleUntilTimeIsUp(key: { accountId: string; keyId: string }): Promise<void> {
  while (performance.now() - startedMs < durationMs) {
    const callId = Bun.randomUUIDv7();
    const held = await store.ledger.hold({
      ...key,
      callId,
      operationId: "bench",
      model: undefined,
      amountMicros: 1n,
      terms,
      multiplierPpm: 1_000_000n,
      createdAtMs: Date.now(),
      budget: undefined,
      idempotency: undefined,
    });
    if (held.kind !== "held") throw new Error(`A hold was refused: ${held.kind}.`);
    await store.ledger.settle({
      callId,
      outcome: "succeeded",
      used: { call: 1 },
      usageSource: "provider",
      valuePico: 1_000_000n,
      httpStatus: 200,
      attempts: [],
      settledAtMs: Date.now(),
    });
    cycles++;
  }
}
