import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { NewQuotaApplication } from "../../../ledger/quota-applications.ts";
import { applicationOf } from "../../../ledger/conformance/test-application.ts";
import { openSqliteStore } from "../../../stores/sqlite/sqlite-store.ts";
import { createTerminal } from "../test-terminal.ts";

const folder = mkdtempSync(join(tmpdir(), "tollgate-quota-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const openStore = async () => openSqliteStore({ path: join(folder, "tollgate.db") });
const terminal = createTerminal({ openStore });

async function fileApplication(
  asked: Partial<NewQuotaApplication> = {},
): Promise<{ id: string; accountId: string }> {
  const { account_id: accountId } = await terminal.json("account", "create", "--name", "Ada");
  const { key_id: keyId } = await terminal.json("key", "issue", "--account", String(accountId));
  const store = await openStore();
  const id = Bun.randomUUIDv7();
  const caller = { accountId: String(accountId), keyId: String(keyId) };
  await store.quotas.file(applicationOf(caller, id, { createdAtMs: terminal.nowMs(), ...asked }));
  await store.close();
  return { id, accountId: String(accountId) };
}

test("an approval grants Growth when nothing else is said, and is listed as decided", async () => {
  const { id, accountId } = await fileApplication();
  expect((await terminal.run("quota", "list")).out.join("\n")).toContain(id);
  expect(await terminal.json("quota", "approve", id)).toMatchObject({
    application_id: id,
    state: "approved",
  });
  expect(await terminal.json("account", "show", accountId)).toMatchObject({ tier: "growth" });
  const open = await terminal.json("quota", "list", "--state", "open");
  expect(JSON.stringify(open)).not.toContain(id);
});

test("a decision says what was asked for and what the account has now, which may be less", async () => {
  const models = ["gpt-4o", "o3\u001b[2J"];
  const { id, accountId } = await fileApplication({
    models,
    endpoints: ["/v1/rerank"],
    useCase: "\u202esearch",
  });
  const line = (await terminal.run("quota", "list", "--state", "open")).out.find((one) => one.includes(id));
  expect(line).toContain("  gpt-4o, o3 [2J, /v1/rerank   search");
  const { out } = await terminal.run("quota", "approve", id);
  expect(out.slice(1)).toEqual([
    `account         ${accountId}`,
    "state           approved",
    "asked for       5000 requests and 6000000 tokens per minute",
    "tier            growth",
    "granted limits  none",
  ]);
  const again = await fileApplication();
  expect(await terminal.json("quota", "approve", again.id, "--rpm", "5000")).toMatchObject({
    tier: "free",
    granted_limits: { rpm: 5_000 },
  });
});

test("an approval with figures leaves the tier and grants them", async () => {
  const { id, accountId } = await fileApplication();
  await terminal.json("quota", "approve", id, "--rpm", "5000", "--tpm", "6000000");
  expect(await terminal.json("account", "show", accountId)).toMatchObject({
    tier: "free",
    granted_limits: { rpm: 5_000, tpm: 6_000_000 },
  });
});

test("an approval takes no account to a lower tier", async () => {
  const { id, accountId } = await fileApplication();
  await terminal.json("account", "update", accountId, "--tier", "enterprise");
  await terminal.json("quota", "approve", id);
  expect(await terminal.json("account", "show", accountId)).toMatchObject({ tier: "enterprise" });
});

test("an application is decided once", async () => {
  const { id, accountId } = await fileApplication();
  expect((await terminal.run("quota", "deny", id)).exitCode).toBe(0);
  for (const decision of ["approve", "deny"]) {
    const again = await terminal.run("quota", decision, id);
    expect(again.exitCode).toBe(1);
    expect(again.errors.join()).toContain(`There is no open application ${id}`);
  }
  expect(await terminal.json("account", "show", accountId)).toMatchObject({
    tier: "free",
    granted_limits: {},
  });
});

test("wrong figures and states are wrong usage", async () => {
  const { id } = await fileApplication();
  expect((await terminal.run("quota", "approve", id, "--rpm", "0")).exitCode).toBe(2);
  expect((await terminal.run("quota", "approve", id, "--tier", "gold")).exitCode).toBe(2);
  expect((await terminal.run("quota", "list", "--state", "lost")).exitCode).toBe(2);
});
