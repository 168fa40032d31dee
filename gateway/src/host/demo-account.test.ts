import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Store } from "../store/store.ts";
import { createSecrets } from "../keys/secrets.ts";
import { openSqliteStore } from "../stores/sqlite/sqlite-store.ts";
import { createDemoAccount } from "./demo-account.ts";

const secrets = createSecrets("a secret for tests only, not for use");
const nowMs = Date.UTC(2026, 5, 1);

let folder: string;
const stores: Store[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-demo-"));
});
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
  rmSync(folder, { recursive: true, force: true });
});

/** One of several processes on the same data. */
function openProcess(): Store {
  const store = openSqliteStore({ path: join(folder, "tollgate.db") });
  stores.push(store);
  return store;
}

const start = (store: Store): Promise<string | undefined> =>
  createDemoAccount({
    store,
    secrets,
    signupCreditMicros: 2_000_000n,
    randomBytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
    nowMs,
  });

test("processes that start together on empty data make one demo account, and one of them tells its key", async () => {
  const processes = [openProcess(), openProcess(), openProcess()];
  const told = (await Promise.all(processes.map(start))).filter((key) => key !== undefined);
  expect(told).toHaveLength(1);
  const accounts = await openProcess().accounts.list();
  expect(accounts).toMatchObject([{ name: "demo", tier: "free", postedMicros: 2_000_000n }]);
  const credential = await openProcess().keys.findCredential(secrets.hashKey(told[0] ?? ""), nowMs);
  expect(credential?.accountId).toBe(accounts[0]?.id ?? "");
});

test("a start that broke off before the key was made is ended by the next, which tells it; it is told once", async () => {
  const store = openProcess();
  const brokenOff = {
    ...store,
    keys: { ...store.keys, issue: () => Promise.reject(new Error("gone")) },
  };
  expect(await start(brokenOff).catch(String)).toBe("Error: gone");
  const processes = [openProcess(), openProcess(), openProcess()];
  const told = (await Promise.all(processes.map(start))).filter((key) => key !== undefined);
  expect(told).toHaveLength(1);
  const [account, ...others] = await store.accounts.list();
  expect(others).toEqual([]);
  expect(account?.postedMicros).toBe(2_000_000n);
  expect(await store.keys.list(account?.id)).toHaveLength(1);
});

test("an account that is not the demo one, and a demo one whose key was taken back, get no key", async () => {
  const store = openProcess();
  expect(await start(store)).toBeString();
  const [key] = await store.keys.list(undefined);
  await store.keys.revoke(key?.id ?? "", nowMs);
  expect(await start(store)).toBeUndefined();
  const elsewhere = openSqliteStore({ path: join(folder, "another.db") });
  stores.push(elsewhere);
  await elsewhere.accounts.create({
    id: "acc_ada",
    name: "Ada",
    tier: "free",
    planMultiplierPpm: 1_000_000n,
    creditMicros: 0n,
    nowMs,
  });
  expect(await start(elsewhere)).toBeUndefined();
  expect(await elsewhere.keys.list(undefined)).toEqual([]);
});

test("where there is an account, none is made", async () => {
  const store = openProcess();
  expect(await start(store)).toBeString();
  expect(await start(store)).toBeUndefined();
  expect(await store.accounts.list()).toHaveLength(1);
});
