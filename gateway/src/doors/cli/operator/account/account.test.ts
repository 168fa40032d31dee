import { describe, expect, test } from "bun:test";
import { openSqliteStore } from "../../../../stores/sqlite/sqlite-store.ts";
import { useTestBooks } from "../../test-books.ts";
import { createTerminal } from "../../test-terminal.ts";

const { terminal, path, findCredential, createAccount, issueKey, holdFor } = useTestBooks();

describe("accounts", () => {
  test("a new account is Free, empty and charged list prices unless told otherwise", async () => {
    const account = await terminal.json("account", "create", "--name", "Ada Ltd");
    expect(account["account_id"]).toMatch(/^acc_[0-9a-f]{32}$/);
    expect(account).toEqual({
      account_id: account["account_id"],
      name: "Ada Ltd",
      tier: "free",
      plan_multiplier: "1",
      suspended: false,
      granted_limits: {},
      balance_micros_usd: 0,
      held_micros_usd: 0,
      available_micros_usd: 0,
      topped_up_micros_usd: 0,
      created_at: "2026-03-14T12:00:00.000Z",
    });
  });

  test("the first account of an installation says where it begins: it may be the wrong folder", async () => {
    const first = createTerminal({
      openStore: async () => openSqliteStore({ path: path() }),
      hasData: async () => false,
      dataName: "/srv/data",
    });
    const { exitCode, errors } = await first.run("account", "create", "--name", "Ada");
    expect(exitCode).toBe(0);
    expect(errors).toEqual(["There was no data at /srv/data yet; it begins with this account."]);
    expect((await terminal.run("account", "create", "--name", "Eve")).errors).toEqual([]);
  });

  test("tier, credit and plan can be given, with = or a space", async () => {
    const words = ["--name=Ada", "--tier", "Growth", "--credit-usd=2.5", "--plan-multiplier", "0.85"];
    const account = await terminal.json("account", "create", ...words);
    expect(account).toMatchObject({
      tier: "growth",
      balance_micros_usd: 2_500_000,
      topped_up_micros_usd: 0,
      plan_multiplier: "0.85",
    });
  });

  test("people get the same figures in words", async () => {
    const shown = await terminal.run("account", "create", "--name", "Ada", "--credit-usd", "2");
    expect(shown.exitCode).toBe(0);
    expect(shown.errors).toEqual([]);
    expect(shown.out[0]).toMatch(/^account +acc_[0-9a-f]{32}$/);
    expect(shown.out.join("\n")).toMatch(/tier +free[^]*balance +2 USD[^]*available +2 USD[^]*state +active/);
  });

  test("list shows every account, oldest first, and says when there are none", async () => {
    expect((await terminal.run("account", "list")).out).toEqual(["There are no accounts yet."]);
    expect(await terminal.json("account", "list")).toEqual({ accounts: [] });
    const first = await createAccount();
    terminal.pass(1);
    const second = await createAccount("--credit-usd", "1");
    const { out } = await terminal.run("account", "list");
    expect(out).toHaveLength(3);
    expect(out[0]).toMatch(/^ACCOUNT +NAME +TIER +BALANCE +HELD +STATE$/);
    expect(out[1]).toContain(first);
    expect(out[2]).toMatch(new RegExp(`^${second} +Ada +free +1 USD +0 USD +active$`));
    const { accounts } = await terminal.json("account", "list");
    expect(accounts).toMatchObject([{ account_id: first }, { account_id: second }]);
  });

  test("show tells what is held and what is left", async () => {
    const accountId = await createAccount("--credit-usd", "3");
    const { keyId } = await issueKey(accountId);
    expect(await holdFor(accountId, keyId, 1_250_000n)).toEqual({ kind: "held" });
    expect(await terminal.json("account", "show", accountId)).toMatchObject({
      account_id: accountId,
      balance_micros_usd: 3_000_000,
      held_micros_usd: 1_250_000,
      available_micros_usd: 1_750_000,
    });
    const { out } = await terminal.run("account", "show", accountId);
    expect(out.join("\n")).toMatch(/held +1\.25 USD[^]*available +1\.75 USD/);
  });

  test("update changes only what is named", async () => {
    const accountId = await createAccount("--tier", "starter");
    expect(await terminal.json("account", "update", accountId, "--tier", "enterprise")).toMatchObject({
      tier: "enterprise",
      plan_multiplier: "1",
    });
    expect(await terminal.json("account", "update", "--plan-multiplier=1.1", accountId)).toMatchObject({
      tier: "enterprise",
      plan_multiplier: "1.1",
      suspended: false,
    });
    const { out } = await terminal.run("account", "update", accountId, "--tier", "growth");
    expect(out.join("\n")).toMatch(/tier +growth/);
  });

  test("update gives an account another name, and nothing else", async () => {
    const accountId = await createAccount("--tier", "growth", "--credit-usd", "3");
    const before = await terminal.json("account", "show", accountId);
    expect(await terminal.json("account", "update", accountId, "--name", " Lovelace Ltd ")).toEqual({
      ...before,
      name: "Lovelace Ltd",
    });
    const { out } = await terminal.run("account", "list");
    expect(out.join("\n")).toContain("Lovelace Ltd");
    const { exitCode, errors } = await terminal.run("account", "update", accountId, "--name", "a\u001b[2J");
    expect([exitCode, errors]).toEqual([2, ["--name takes 1 to 200 characters without control characters."]]);
  });

  test("limits are granted without an application, changed one by one, shown, and taken back", async () => {
    const accountId = await createAccount();
    const { key } = await issueKey(accountId);
    const update = (...words: string[]) => terminal.json("account", "update", accountId, ...words);
    expect((await terminal.run("account", "show", accountId)).out.join("\n")).toMatch(/granted limits +none/);
    expect(await update("--rpm", "5000", "--tpm", "6000000")).toMatchObject({
      granted_limits: { rpm: 5_000, tpm: 6_000_000 },
    });
    expect(await update("--rpm", "100", "--concurrency", "9")).toMatchObject({
      granted_limits: { rpm: 100, tpm: 6_000_000, concurrency: 9 },
    });
    expect(await findCredential(key)).toMatchObject({ grantedLimits: { rpm: 100, concurrency: 9 } });
    expect((await terminal.run("account", "show", accountId)).out.join("\n")).toMatch(
      /granted limits +100 requests per minute, 6000000 tokens per minute, 9 streams and long calls at once, where the tier has fewer/,
    );
    expect((await update("--no-granted-limits"))["granted_limits"]).toEqual({});
    expect((await findCredential(key))?.grantedLimits).toEqual({});
  });

  test("a suspended account's keys say so, until it is resumed", async () => {
    const accountId = await createAccount("--credit-usd", "1");
    const { key, keyId } = await issueKey(accountId);
    expect(await terminal.json("account", "update", accountId, "--suspend")).toMatchObject({
      suspended: true,
    });
    expect(await findCredential(key)).toMatchObject({ suspended: true });
    expect(await holdFor(accountId, keyId, 1n)).toEqual({ kind: "account_suspended" });
    expect(await terminal.json("account", "update", accountId, "--resume")).toMatchObject({
      suspended: false,
    });
    expect(await findCredential(key)).toMatchObject({ suspended: false });
    expect(await holdFor(accountId, keyId, 1n)).toEqual({ kind: "held" });
  });
});
