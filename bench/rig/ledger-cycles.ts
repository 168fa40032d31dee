// How many calls a second the ledger holds and settles for so many callers at once, with nothing around it. Run as a
// program it counts; imported it starts that program, because a library that slows the disk down must be there first.

import { openSqliteStore } from "../../gateway/src/stores/sqlite/sqlite-store.ts";
import { databaseHome } from "./disk.ts";
import { openOwnersIn, runPair } from "./ledger-pair.ts";
import { endingWithUs, openTemporaryFolder, tied } from "./leftovers.ts";
import { databaseIn } from "./tollgate-server.ts";

interface CyclesOptions {
  readonly callers: number;
  readonly seconds: number;
  /** The library that makes every fsync slower. */
  readonly slowFsync: string | undefined;
}

export interface LedgerCycles {
  readonly cyclesPerSecond: number;
  readonly commitsPerSecond: number;
}

export async function countLedgerCycles({
  callers,
  seconds,
  slowFsync,
}: CyclesOptions): Promise<LedgerCycles> {
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
  await store.ledger.beginRun(Date.now());
  const owners = await openOwnersIn(store, callers);

  commits = 0;
  const startedMs = performance.now();
  const lastedSeconds = (): number => (performance.now() - startedMs) / 1000;
  await Promise.all(
    owners.map(async (owner) => {
      while (lastedSeconds() < seconds) {
        await runPair(store, owner);
        cycles++;
      }
    }),
  );
  const lasted = lastedSeconds();
  await store.close();
  return { cyclesPerSecond: cycles / lasted, commitsPerSecond: commits / lasted };
}
