// A database that has seen many days, as long as somebody looks at it. Run as a program it writes one; imported it
// starts that program, so that a long statement of SQL keeps nobody from stopping the run.

import { statfsSync, statSync } from "node:fs";
import { openSqliteStore } from "../../gateway/src/stores/sqlite/sqlite-store.ts";
import { databaseHome } from "./disk.ts";
import { historyDays, historyPrice, writeHistory } from "./history-writer.ts";
import { endingWithUs, openTemporaryFolder, tied } from "./leftovers.ts";
import { databaseIn, openAccount, plentyMicros, type OpenedAccount } from "./tollgate-server.ts";

export interface History {
  readonly folder: string;
  readonly calls: number;
  readonly keys: readonly string[];
  readonly startSeconds: number;
  readonly endSeconds: number;
  readonly bytes: number;
  readonly remove: () => void;
}

const accounts = 100;
const dayMs = 86_400_000;

export async function openHistory(calls: number): Promise<History> {
  const folder = openTemporaryFolder("history", databaseHome);
  try {
    // Whatever else runs on the machine has the right of way over preparations.
    const words = [...endingWithUs, "nice", process.execPath, import.meta.path, folder.path, String(calls)];
    const child = tied(Bun.spawn(words, { stdout: "pipe", stderr: "inherit" }));
    const said = await new Response(child.stdout).text();
    if ((await child.exited) !== 0) throw new Error(`No history of ${calls} calls could be written.`);
    const written = JSON.parse(said) as Pick<History, "keys" | "startSeconds" | "endSeconds">;
    const bytes = statSync(databaseIn(folder.path)).size;
    return { ...written, folder: folder.path, calls, bytes, remove: folder.remove };
  } catch (error) {
    folder.remove();
    throw error;
  }
}

/** For the log that grows while a server looks at the books, and so that the disk is never filled to its brim. */
const roomKept = 0.85;

/** How many calls the disk has room for, by what the calls of another history take. */
export function callsThatFit({ bytes, calls }: Pick<History, "bytes" | "calls">): number {
  const { bavail, bsize } = statfsSync(databaseHome);
  const fit = (bavail * bsize * roomKept) / (bytes / calls);
  const grain = 10 ** Math.max(0, Math.floor(Math.log10(fit)) - 1);
  return Math.floor(fit / grain) * grain;
}

if (import.meta.main) {
  const [folder = "", calls = ""] = process.argv.slice(2);
  console.log(JSON.stringify(await write(folder, Number(calls))));
}

async function write(folder: string, calls: number) {
  const endMs = Math.floor(Date.now() / dayMs) * dayMs;
  const startMs = endMs - historyDays * dayMs;
  const path = databaseIn(folder);
  const store = openSqliteStore({ path });
  await store.ledger.beginRun(startMs);
  await store.ledger.recordPrices([historyPrice]);
  const owners: OpenedAccount[] = [];
  for (let number = 0; number < accounts; number++) {
    owners.push(await openAccount(store, { creditMicros: plentyMicros, tier: "enterprise" }, startMs));
  }
  await store.close();

  let toldMs = performance.now();
  writeHistory(path, { calls, startMs, owners }, (daysDone) => {
    if (performance.now() - toldMs < 15_000) return;
    toldMs = performance.now();
    console.error(`  ${daysDone} of ${historyDays} days written`);
  });
  return {
    keys: owners.map(({ key }) => key),
    startSeconds: startMs / 1000,
    endSeconds: endMs / 1000,
  };
}
