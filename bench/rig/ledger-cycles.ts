// How many calls a second the ledger holds and settles for so many callers at once, with nothing around it. Run as a
// program it counts; imported it starts that program, because a library that slows the disk down must be there first.

import { openSqliteStore } from "../../gateway/src/stores/sqlite/sqlite-store.ts";
import { createTerms } from "../../gateway/src/prices/terms.ts";
import { databaseHome } from "./disk.ts";
import { endingWithUs, openTemporaryFolder, tied } from "./leftovers.ts";
import { databaseIn, openAccount, plentyMicros } from "./tollgate-server.ts";

interface Wish {
  readonly callers: number;
  readonly seconds: number;
  /** The library that makes every fsync slower. */
  readonly slowFsync: string | undefined;
}

export interface LedgerCycles {
  readonly cyclesPerSecond: number;
  readonly commitsPerSecond: number;
}

export async function countLedgerCycles({ callers, seconds, slowFsync }: Wish): Promise<LedgerCycles> {
  const folder = openTemporaryFolder("cycles", databaseHome);
  try {
    const words = [process.execPath, import.meta.path, folder.path, String(callers), String(seconds)];
    const env = { ...process.env, ...(slowFsync === undefined ? {} : { LD_PRELOAD: slowFsync }) };
    const child = tied(Bun.spawn([...endingWithUs, ...words], { env, stdout: "pipe", stderr: "inherit" }));
    const said = await new Response(child.stdout).text();
    if ((await child.exited) !== 0) throw new Error("The ledger's cycles could not be counted.");
    return JSON.parse(said) as LedgerCycles;
  } finally {
    folder.remove();
  }
}

if (import.meta.main) {
  const [folder = "", callers = "", seconds = ""] = process.argv.slice(2);
  console.log(JSON.stringify(await count(folder, Number(callers), Number(seconds))));
}

async function count(folder: string, callers: number, seconds: number): Promise<LedgerCycles> {
  let commits = 0;
  let cycles = 0;
  const store = openSqliteStore({ path: databaseIn(folder), onCommit: () => void commits++ });
  const terms = createTerms("bench", undefined, { call: 1_000_000n });
  await store.ledger.beginRun(Date.now());
  await store.ledger.recordPrices([{ operationId: "bench", model: undefined, terms }]);
  const wish = { creditMicros: plentyMicros, tier: "free" } as const;
  const owners = await Promise.all(
    Array.from({ length: callers }, () => openAccount(store, wish, Date.now())),
  );

  const cycle = async ({ accountId, keyId }: (typeof owners)[number]): Promise<void> => {
    const callId = Bun.randomUUIDv7();
    const held = await store.ledger.hold({
      callId,
      accountId,
      keyId,
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
  };

  commits = 0;
  const startedMs = performance.now();
  const lastedSeconds = (): number => (performance.now() - startedMs) / 1000;
  await Promise.all(
    owners.map(async (owner) => {
      while (lastedSeconds() < seconds) await cycle(owner);
    }),
  );
  const lasted = lastedSeconds();
  await store.close();
  return { cyclesPerSecond: cycles / lasted, commitsPerSecond: commits / lasted };
}
