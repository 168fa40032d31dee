// Everything on: a hundred accounts, each with a key and a budget on it, limits that count though nobody reaches
// them, a hold and a durable settlement for every call.

import { openSqliteStore } from "../../gateway/src/stores/sqlite/sqlite-store.ts";
import type { Contestant, RunningContestant } from "../rig/contestant.ts";
import { databaseHome } from "../rig/disk.ts";
import { openTemporaryFolder } from "../rig/leftovers.ts";
import {
  databaseIn,
  openAccount,
  plentyMicros,
  serveTollgate,
  type AccountOptions,
} from "../rig/tollgate-server.ts";
import type { Upstream } from "../rig/upstream.ts";

const accounts = 100;

export const tollgate = tollgateAs("Tollgate", { creditMicros: plentyMicros, tier: "enterprise" });

/** Whether a contestant is ours, under whatever name it entered. */
export const isOurs = (name: string): boolean => name.startsWith(tollgate.name);

/** The same gate, its process and its accounts its own, before callers who are told something else than others. */
export function tollgateAs(
  name: string,
  options: AccountOptions,
  change: (running: RunningContestant) => Partial<RunningContestant> = () => ({}),
): Contestant {
  return {
    name,
    open: async (upstream) => {
      const running = await open(upstream, options);
      return { ...running, ...change(running) };
    },
  };
}

async function open(upstream: Upstream, options: AccountOptions): Promise<RunningContestant> {
  const folder = openTemporaryFolder("tollgate", databaseHome);
  const keys = await openKeys(folder.path, options);
  const { close, ...server } = await serveTollgate(folder.path, upstream.url);
  return {
    ...server,
    keys,
    compiles: true,
    close: async () => {
      await close();
      folder.remove();
    },
  };
}

async function openKeys(folder: string, options: AccountOptions): Promise<string[]> {
  const store = openSqliteStore({ path: databaseIn(folder) });
  const keys: string[] = [];
  for (let number = 0; number < accounts; number++)
    keys.push((await openAccount(store, options, Date.now())).key);
  await store.close();
  return keys;
}
