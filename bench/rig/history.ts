// A database that has seen many days: calls held and settled through the ledger's own door, so that every row, sum and
// bucket is what the gateway would have written, and the audit finds nothing to say.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Store } from "../../gateway/src/ledger/store.ts";
import { createTerms, valuePico } from "../../gateway/src/operation/terms.ts";
import { openSqliteStore } from "../../gateway/src/stores/sqlite/sqlite-store.ts";
import { databaseIn, openAccount, plentyMicros, type OpenedAccount } from "./tollgate-server.ts";

export interface History {
  readonly folder: string;
  readonly keys: readonly string[];
  readonly startSeconds: number;
  readonly endSeconds: number;
}

const accounts = 100;
const days = 400;
const dayMs = 86_400_000;
/** What one call takes on disk with its entries and buckets, rounded up. */
const bytesPerCall = 2_000;
/** One commit takes this many. */
const together = 256;

const keptIn = join(import.meta.dir, "../results/tmp");
const schemaFile = join(import.meta.dir, "../../gateway/src/stores/sqlite/migrations.ts");

/** Written once and kept: it is made anew when the schema changes. Undefined when the disk has no room for it. */
export async function openHistory(calls: number): Promise<History | undefined> {
  const schema = createHash("sha256").update(readFileSync(schemaFile)).digest("hex").slice(0, 8);
  const folder = join(keptIn, `history-${calls}-${schema}`);
  const note = join(folder, "history.json");
  if (existsSync(note)) return JSON.parse(readFileSync(note, "utf8")) as History;

  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const { bavail, bsize } = statfsSync(folder);
  if (bavail * bsize < calls * bytesPerCall * 1.2) return undefined;
  const history = await write(folder, calls);
  writeFileSync(note, JSON.stringify(history));
  return history;
}

async function write(folder: string, calls: number): Promise<History> {
  const store = openSqliteStore({ path: databaseIn(folder) });
  const endMs = Date.now();
  const startMs = endMs - days * dayMs;
  await store.ledger.beginRun(startMs);
  await store.ledger.recordPrices([{ operationId, model, terms }]);
  const owners: OpenedAccount[] = [];
  for (let number = 0; number < accounts; number++) {
    owners.push(await openAccount(store, { creditMicros: plentyMicros, tier: "enterprise" }, startMs));
  }
  let toldMs = performance.now();
  for (let first = 0; first < calls; first += together) {
    const numbers = Array.from({ length: Math.min(together, calls - first) }, (_, at) => first + at);
    await bookCalls(
      store,
      owners,
      numbers.map((number) => startMs + Math.floor((number / calls) * days * dayMs)),
    );
    if (performance.now() - toldMs < 10_000) continue;
    toldMs = performance.now();
    console.error(`  ${first.toLocaleString("en-US")} of ${calls.toLocaleString("en-US")} calls written`);
  }
  await store.close();
  return {
    folder,
    keys: owners.map(({ key }) => key),
    startSeconds: Math.floor(startMs / 1000) + 1,
    endSeconds: Math.floor(endMs / 1000),
  };
}

const operationId = "chat.completions.create";
const model = "bench-model";
const terms = createTerms(operationId, model, { input_tokens: 2_500_000n, output_tokens: 10_000_000n });
const used = { input_tokens: 112, output_tokens: 97 };
const heldMicros = 10_000n;

async function bookCalls(
  store: Store,
  owners: readonly OpenedAccount[],
  timesMs: readonly number[],
): Promise<void> {
  const calls = timesMs.map((atMs) => ({ callId: Bun.randomUUIDv7("hex", atMs), atMs }));
  const holds = calls.map(({ callId, atMs }) => {
    const owner = owners[Math.floor(Math.random() * owners.length)] ?? owners[0];
    if (!owner) throw new Error("Nobody has an account.");
    return store.ledger.hold({
      callId,
      accountId: owner.accountId,
      keyId: owner.keyId,
      operationId,
      model,
      amountMicros: heldMicros,
      terms,
      multiplierPpm: 1_000_000n,
      createdAtMs: atMs,
      budget: { limitMicros: plentyMicros, window: "day" },
      idempotency: undefined,
    });
  });
  for (const held of await Promise.all(holds)) {
    if (held.kind !== "held") throw new Error(`A hold was refused: ${held.kind}.`);
  }
  await Promise.all(
    calls.map(({ callId, atMs }) =>
      store.ledger.settle({
        callId,
        outcome: "succeeded",
        used,
        usageSource: "provider",
        valuePico: valuePico(used, terms),
        httpStatus: 200,
        attempts: [],
        settledAtMs: atMs,
      }),
    ),
  );
}
