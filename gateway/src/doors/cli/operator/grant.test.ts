import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteStore } from "../../../stores/sqlite/sqlite-store.ts";
import { createTerminal, type Terminal } from "../test-terminal.ts";

let folder: string;
let terminal: Terminal;
let accountId: string;
let keyId: string;

const dayMs = 24 * 60 * 60_000;
const openStore = async () => openSqliteStore({ path: join(folder, "tollgate.db") });

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-grants-"));
  terminal = createTerminal({ openStore });
  accountId = String((await terminal.json("account", "create", "--name", "Ada"))["account_id"]);
  keyId = String((await terminal.json("key", "issue", "--account", accountId))["key_id"]);
  const store = await openStore();
  for (const [id, days] of [
    ["gr_1", 1],
    ["gr_2", 30],
  ] as const) {
    await store.grants.create({
      id,
      accountId,
      keyId,
      clientId: "client",
      clientName: "A client\nof two lines",
      redirectHost: "client.example",
      scopes: ["tools:read", "tools:spend"],
      spendPolicy: {
        perCallMicros: 500_000n,
        perDayMicros: 5_000_000n,
        expiresAtMs: terminal.nowMs() + days * dayMs,
      },
      createdAtMs: terminal.nowMs() + days,
    });
  }
  await store.close();
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("grants are listed newest first, with what binds them and how they stand", async () => {
  terminal.pass(2 * dayMs);
  const { grants } = await terminal.json("grant", "list", "--account", accountId);
  expect(grants).toMatchObject([
    {
      grant_id: "gr_2",
      account_id: accountId,
      client_name: "A client of two lines",
      state: "active",
      scopes: ["tools:read", "tools:spend"],
      per_call_usd: "0.5",
      per_day_usd: "5",
      spent_today_micros_usd: 0,
    },
    { grant_id: "gr_1", state: "expired" },
  ]);
  expect((await terminal.run("grant", "list")).out).toHaveLength(3);
  const { account_id: other } = await terminal.json("account", "create", "--name", "Bob");
  expect(await terminal.json("grant", "list", "--account", String(other))).toEqual({ grants: [] });
});

test("a revoked grant stays revoked, and one that is not there is said so", async () => {
  const first = await terminal.json("grant", "revoke", "gr_2");
  expect(first).toMatchObject({ grant_id: "gr_2", state: "revoked" });
  terminal.pass(1_000);
  expect((await terminal.json("grant", "revoke", "gr_2"))["revoked_at"]).toBe(first["revoked_at"]);
  const none = await terminal.run("grant", "revoke", "gr_none");
  expect(none).toMatchObject({ exitCode: 1, errors: ["There is no grant gr_none."] });
  expect((await terminal.run("grant", "revoke")).exitCode).toBe(2);
});

test("a grant ends with the key used at sign-in, and says so", async () => {
  const gr2 = async () => ((await terminal.json("grant", "list"))["grants"] as readonly object[])[0];
  const { expires_at } = await terminal.json(
    "key",
    "update",
    keyId,
    "--expires",
    new Date(terminal.nowMs() + dayMs).toISOString(),
  );
  expect(await gr2()).toMatchObject({ grant_id: "gr_2", state: "active", expires_at, revoked_at: null });
  terminal.pass(2 * dayMs);
  expect(await gr2()).toMatchObject({ grant_id: "gr_2", state: "expired", expires_at, revoked_at: null });
  const { revoked_at } = await terminal.json("key", "revoke", keyId);
  expect(await gr2()).toMatchObject({ grant_id: "gr_2", state: "revoked", revoked_at });
});

test("whoever rotates a key hears of the clients that were signed in with it and go on", async () => {
  terminal.pass(2 * dayMs);
  const said = async (): Promise<string> => (await terminal.run("key", "rotate", keyId)).out.join("\n");
  expect(await said()).toContain("Clients that signed in with this key stay signed in (1)");
  await terminal.run("grant", "revoke", "gr_2");
  expect(await said()).not.toContain("Clients");
});
