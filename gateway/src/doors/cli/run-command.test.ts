import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSecret, isWellFormedKey } from "../../keys/key-format.ts";
import type { Credential } from "../../keys/keys.ts";
import type { Store } from "../../books/store.ts";
import { createTerms } from "../../prices/terms.ts";
import { openSqliteStore } from "../../stores/sqlite/sqlite-store.ts";
import { createTerminal, testSecrets, type Terminal } from "./test-terminal.ts";

let folder: string;
let path: string;
let opened: number;
let closed: number;
let terminal: Terminal;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-cli-"));
  path = join(folder, "tollgate.db");
  opened = 0;
  closed = 0;
  terminal = createTerminal({ openStore: async () => counted(openSqliteStore({ path })) });
});

afterEach(() => {
  expect(closed).toBe(opened);
  rmSync(folder, { recursive: true, force: true });
});

/** The real store, which also tells whether commands close what they open. */
function counted(store: Store): Store {
  opened++;
  return {
    ...store,
    close: async () => {
      closed++;
      await store.close();
    },
  };
}

async function withBooks<Result>(use: (store: Store) => Promise<Result>): Promise<Result> {
  const store = openSqliteStore({ path });
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

const findCredential = (key: string): Promise<Credential | undefined> =>
  withBooks((store) => store.keys.findCredential(testSecrets.hashKey(key), terminal.nowMs()));

async function createAccount(...words: string[]): Promise<string> {
  return String((await terminal.json("account", "create", "--name", "Ada", ...words))["account_id"]);
}

async function issueKey(accountId: string, ...words: string[]): Promise<{ keyId: string; key: string }> {
  const issued = await terminal.json("key", "issue", "--account", accountId, ...words);
  return { keyId: String(issued["key_id"]), key: String(issued["key"]) };
}

const terms = createTerms("test.call", undefined, { call: 1_000_000_000n });

const holdFor = (accountId: string, keyId: string, amountMicros: bigint, callId = "call-1") =>
  withBooks(async (store) => {
    await store.ledger.recordPrices([{ operationId: "test.call", model: undefined, terms }]);
    await store.ledger.beginRun(terminal.nowMs());
    const key = await store.keys.find(keyId);
    return store.ledger.hold({
      callId,
      accountId,
      keyId,
      operationId: "test.call",
      model: undefined,
      amountMicros,
      terms,
      multiplierPpm: 1_000_000n,
      createdAtMs: terminal.nowMs(),
      budget: key?.budget,
      idempotency: undefined,
    });
  });

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
      /granted limits +100 requests per minute, 6000000 tokens per minute, 9 calls at once, where the tier has fewer/,
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

describe("money", () => {
  test("the first top-up raises Free to Starter, 500 USD in all raise to Growth", async () => {
    const accountId = await createAccount();
    const topUp = (usd: string) => terminal.json("topup", "--account", accountId, "--usd", usd);
    expect(await topUp("0.000001")).toMatchObject({ tier: "starter", balance_micros_usd: 1 });
    expect(await topUp("499.999998")).toMatchObject({ tier: "starter", topped_up_micros_usd: 499_999_999 });
    expect(await topUp("0.000001")).toMatchObject({ tier: "growth", topped_up_micros_usd: 500_000_000 });
    expect((await terminal.run("topup", "--account", accountId, "--usd", "1")).out.join("\n")).toMatch(
      /balance +501 USD/,
    );
  });

  test("a payment with a reference is booked once, however often it is told", async () => {
    const accountId = await createAccount();
    const other = await createAccount();
    const topUp = (account: string, usd: string, reference: string) =>
      terminal.json("topup", "--account", account, "--usd", usd, "--reference", reference);
    const first = await topUp(accountId, "100", "invoice 2026-07");
    expect(first).toMatchObject({ balance_micros_usd: 100_000_000, booked: true });
    terminal.pass(5_000);
    expect(await topUp(accountId, "100.00", " invoice 2026-07 ")).toEqual({ ...first, booked: false });
    expect(await topUp(accountId, "1", "invoice 2026-08")).toMatchObject({ booked: true });
    // Two customers' payments may have the same number.
    expect(await topUp(other, "7", "invoice 2026-07")).toMatchObject({
      balance_micros_usd: 7_000_000,
      booked: true,
    });

    const words = ["topup", "--account", accountId, "--usd", "50", "--reference", "invoice 2026-07"];
    const { out, errors, exitCode } = await terminal.run(...words);
    expect([exitCode, out]).toEqual([1, []]);
    expect(errors.join("\n")).toMatch(
      /"invoice 2026-07" was booked as 100 USD on 2026-\S+; nothing was booked now/,
    );
    const again = await terminal.run(...words.with(4, "100"));
    expect(again.out.at(-1)).toMatch(
      /^This payment was booked on 2026-\S+ already; nothing was booked now\.$/,
    );
    expect(await terminal.json("account", "show", accountId)).toMatchObject({
      balance_micros_usd: 101_000_000,
    });
    const { entries } = (await terminal.json("account", "ledger", accountId)) as unknown as {
      entries: { reason: string | null }[];
    };
    expect(entries.map(({ reason }) => reason)).toEqual(["invoice 2026-08", "invoice 2026-07"]);
  });

  test("a grant raises no tier, and neither does an adjustment", async () => {
    const accountId = await createAccount("--credit-usd", "1000");
    const words = ["adjust", "--account", accountId, "--usd", "+700", "--reason", "goodwill"];
    expect(await terminal.json(...words)).toMatchObject({
      tier: "free",
      balance_micros_usd: 1_700_000_000,
      topped_up_micros_usd: 0,
    });
  });

  test("a top-up never lowers a tier that was granted", async () => {
    for (const tier of ["enterprise", "growth"]) {
      const accountId = await createAccount("--tier", tier);
      expect(await terminal.json("topup", "--account", accountId, "--usd", "1")).toMatchObject({ tier });
    }
  });

  test("an adjustment takes what is available and not a micro more", async () => {
    const accountId = await createAccount("--credit-usd", "3");
    const { keyId } = await issueKey(accountId);
    await holdFor(accountId, keyId, 1_000_000n);
    const take = (usd: string) => ["adjust", "--account", accountId, "--usd", usd, "--reason", "test charge"];
    expect(await terminal.run(...take("-2.000001"))).toEqual({
      exitCode: 1,
      out: [],
      errors: [`2.000001 USD cannot be taken: account ${accountId} has 2 USD available.`],
    });
    expect(await terminal.json(...take("-2"))).toMatchObject({
      balance_micros_usd: 1_000_000,
      available_micros_usd: 0,
    });
    expect((await terminal.run(...take("0.5"))).out.join("\n")).toMatch(/balance +1\.5 USD/);
  });

  test.each([
    ["topup", "0"],
    ["topup", "-1"],
    ["topup", "1e3"],
    ["topup", "0.0000001"],
    ["topup", "1,5"],
    ["topup", "USD 5"],
    ["topup", "1000000.000001"],
    ["topup", "NaN"],
    ["topup", "0x10"],
    ["topup", "+5"],
    ["topup", "9".repeat(40)],
    ["adjust", "0"],
    ["adjust", "-0.0"],
    ["adjust", "+-1"],
    ["adjust", "-1000000.000001"],
    ["adjust", "--1"],
  ])("%s of %s is called wrong usage and books nothing", async (command, usd) => {
    const accountId = await createAccount("--credit-usd", "5");
    const reason = command === "adjust" ? ["--reason", "r"] : [];
    const shown = await terminal.run(command, "--account", accountId, `--usd=${usd}`, ...reason);
    expect(shown).toMatchObject({ exitCode: 2, out: [] });
    expect(shown.errors).toHaveLength(1);
    expect(shown.errors[0]).toMatch(/^--usd /);
    expect(await terminal.json("account", "show", accountId)).toMatchObject({
      balance_micros_usd: 5_000_000,
    });
  });

  test("a million USD is the most one payment can be", async () => {
    const accountId = await createAccount();
    expect(await terminal.json("topup", "--account", accountId, "--usd", "1000000")).toMatchObject({
      balance_micros_usd: 1_000_000_000_000,
    });
  });
});

describe("keys", () => {
  test("an issued key is printed once, alone on its line, and works", async () => {
    const accountId = await createAccount();
    const { out, errors, exitCode } = await terminal.run(
      "key",
      "issue",
      "--account",
      accountId,
      "--name",
      "ci",
    );
    expect({ errors, exitCode }).toEqual({ errors: [], exitCode: 0 });
    const key = out.at(-1) ?? "";
    expect(isWellFormedKey(key)).toBe(true);
    expect(out.at(-2)).toContain("only this once");
    expect(out.join("\n").split(key)).toHaveLength(2);
    expect(await findCredential(key)).toMatchObject({ accountId, scope: "key", revoked: false });
    const everythingElse = [
      ...(await terminal.run("key", "list")).out,
      ...(await terminal.run("account", "list")).out,
    ];
    expect(everythingElse.join("\n")).not.toContain("tgk_");
  });

  test("what is pasted where its id belongs does not come back, be it a key, a token or a code", async () => {
    for (const prefix of ["tgk_", "tgo_", "tgr_", "tgc_"] as const) {
      const secret = createSecret(prefix, (count) => crypto.getRandomValues(new Uint8Array(count)));
      const { out, errors, exitCode } = await terminal.run("key", "revoke", secret);
      expect(exitCode).not.toBe(0);
      expect([...out, ...errors].join("\n")).not.toContain(secret);
    }
  });

  test("its JSON carries account, key id and key", async () => {
    const accountId = await createAccount();
    const words = [
      "--scope",
      "account",
      "--budget-usd=5",
      "--budget-window",
      "month",
      "--expires",
      "2026-04-01",
    ];
    const issued = await terminal.json("key", "issue", "--account", accountId, ...words);
    const key = String(issued["key"]);
    expect(issued["key_id"]).toMatch(/^key_[0-9a-f]{32}$/);
    expect(issued).toEqual({
      key_id: issued["key_id"],
      account_id: accountId,
      key,
      name: "key",
      scope: "account",
      state: "active",
      budget: {
        window: "month",
        limit_micros_usd: 5_000_000,
        spent_micros_usd: 0,
        held_micros_usd: 0,
        resets_at: "2026-04-01T00:00:00.000Z",
      },
      allowed_models: null,
      allowed_operations: null,
      created_at: "2026-03-14T12:00:00.000Z",
      expires_at: "2026-04-01T00:00:00.000Z",
      revoked_at: null,
      secrets: [{ last4: key.slice(-4), created_at: "2026-03-14T12:00:00.000Z", expires_at: null }],
    });
  });

  test("the data folder holds no secret in the clear", async () => {
    const { key, keyId } = await issueKey(await createAccount());
    const rotated = String((await terminal.json("key", "rotate", keyId))["key"]);
    for (const suffix of ["", "-wal"]) {
      if (!existsSync(path + suffix)) continue;
      const bytes = await Bun.file(path + suffix).bytes();
      for (const secret of [key, rotated])
        expect(Buffer.from(bytes).includes(secret.slice(4, 20))).toBe(false);
    }
  });

  test("list shows all keys or one account's, with their state", async () => {
    expect((await terminal.run("key", "list")).out).toEqual(["There are no keys yet."]);
    const [one, two] = [await createAccount(), await createAccount()];
    const first = await issueKey(one, "--expires", "2026-03-15T00:00:00+02:00");
    terminal.pass(1);
    const second = await issueKey(two, "--budget-usd", "1", "--budget-window", "day");
    await terminal.run("key", "revoke", second.keyId);
    terminal.pass(86_400_000);
    const { keys } = await terminal.json("key", "list");
    expect(keys).toMatchObject([
      { key_id: first.keyId, state: "expired", secrets: [], expires_at: "2026-03-14T22:00:00.000Z" },
      { key_id: second.keyId, state: "revoked", secrets: [] },
    ]);
    expect((await terminal.json("key", "list", "--account", two))["keys"]).toMatchObject([
      { key_id: second.keyId },
    ]);
    const { out } = await terminal.run("key", "list", "--account", one);
    expect(out).toHaveLength(2);
    expect(out[0]).toMatch(/^KEY +ACCOUNT +NAME +SCOPE +STATE +BUDGET +MODELS +OPERATIONS +EXPIRES/);
    expect(out[1]).toContain(first.keyId);
  });

  test("update changes name, scope, budget and expiry, and takes them away again", async () => {
    const { key, keyId } = await issueKey(await createAccount());
    const words = [
      "--name",
      "new name",
      "--scope",
      "account",
      "--budget-usd",
      "2",
      "--budget-window",
      "total",
    ];
    expect(
      await terminal.json("key", "update", keyId, ...words, "--expires", "2027-01-01T00:00Z"),
    ).toMatchObject({
      key_id: keyId,
      name: "new name",
      scope: "account",
      budget: { window: "total", limit_micros_usd: 2_000_000, resets_at: null },
      expires_at: "2027-01-01T00:00:00.000Z",
    });
    expect(await findCredential(key)).toMatchObject({
      scope: "account",
      budget: { limitMicros: 2_000_000n },
    });
    const { out } = await terminal.run("key", "update", keyId, "--no-budget", "--no-expiry");
    expect(out.join("\n")).toMatch(/name +new name[^]*budget +none[^]*expires +never/);
    expect(await findCredential(key)).toMatchObject({ budget: undefined, expiresAtMs: undefined });
  });

  test("a budget binds holds, and the list tells what is spent", async () => {
    const accountId = await createAccount("--credit-usd", "10");
    const { keyId } = await issueKey(accountId, "--budget-usd", "1", "--budget-window", "day");
    expect(await holdFor(accountId, keyId, 1_000_001n)).toMatchObject({ kind: "budget_exceeded" });
    expect(await holdFor(accountId, keyId, 1_000_000n)).toEqual({ kind: "held" });
    const settled = { outcome: "succeeded", usageSource: "provider", httpStatus: 200, attempts: [] } as const;
    await withBooks((store) =>
      store.ledger.settle({
        ...settled,
        callId: "call-1",
        used: { call: 400 },
        valuePico: 400_000_000_000n,
        settledAtMs: terminal.nowMs(),
      }),
    );
    const { keys } = await terminal.json("key", "list");
    expect(keys).toMatchObject([{ budget: { spent_micros_usd: 400_000, held_micros_usd: 0 } }]);
    expect((await terminal.run("key", "list")).out[1]).toContain("1 USD a day, 0.4 USD spent");
    terminal.pass(86_400_000);
    const tomorrow = await terminal.json("key", "list");
    expect(tomorrow["keys"]).toMatchObject([
      { budget: { spent_micros_usd: 0, limit_micros_usd: 1_000_000 } },
    ]);
  });

  test("rotation keeps the id, and the old secret lives exactly as long as the grace", async () => {
    const { key: old, keyId } = await issueKey(await createAccount());
    terminal.pass(1_000);
    const rotated = await terminal.json("key", "rotate", keyId, "--grace", "15m");
    const renewed = String(rotated["key"]);
    expect(rotated["key_id"]).toBe(keyId);
    expect(renewed).not.toBe(old);
    expect(rotated["secrets"]).toMatchObject([
      { last4: renewed.slice(-4), expires_at: null },
      { last4: old.slice(-4), expires_at: "2026-03-14T12:15:01.000Z" },
    ]);
    terminal.pass(15 * 60_000 - 1);
    expect(await findCredential(old)).toMatchObject({ keyId });
    expect(await findCredential(renewed)).toMatchObject({ keyId });
    terminal.pass(1);
    expect(await findCredential(old)).toBeUndefined();
    expect(await findCredential(renewed)).toMatchObject({ keyId });
    expect((await terminal.json("key", "list"))["keys"]).toMatchObject([
      { secrets: [{ last4: renewed.slice(-4) }] },
    ]);
  });

  test("the grace is a day unless told otherwise, and a second rotation does not prolong the first", async () => {
    const { key: first, keyId } = await issueKey(await createAccount());
    const { out } = await terminal.run("key", "rotate", keyId);
    const second = out.at(-1) ?? "";
    expect(isWellFormedKey(second)).toBe(true);
    expect(out.at(-2)).toStartWith("The old secret works until 2026-03-15T12:00:00.000Z. ");
    terminal.pass(3_600_000);
    await terminal.json("key", "rotate", keyId, "--grace=7d");
    terminal.pass(23 * 3_600_000);
    expect(await findCredential(first)).toBeUndefined();
    expect(await findCredential(second)).toMatchObject({ keyId });
  });

  test("a grace of 0s ends the old secret at once", async () => {
    const { key, keyId } = await issueKey(await createAccount());
    await terminal.json("key", "rotate", keyId, "--grace", "0s");
    expect(await findCredential(key)).toBeUndefined();
  });

  test("revocation ends every secret, holds for ever and keeps its first moment", async () => {
    const { key: old, keyId } = await issueKey(await createAccount());
    const renewed = String((await terminal.json("key", "rotate", keyId))["key"]);
    expect(await terminal.json("key", "revoke", keyId)).toMatchObject({ state: "revoked", secrets: [] });
    for (const key of [old, renewed]) expect(await findCredential(key)).toMatchObject({ revoked: true });
    terminal.pass(1_000);
    expect((await terminal.run("key", "revoke", keyId)).out.join("\n")).toMatch(/state +revoked/);
    expect((await terminal.json("key", "list"))["keys"]).toMatchObject([
      { revoked_at: "2026-03-14T12:00:00.000Z" },
    ]);
    expect(await terminal.run("key", "rotate", keyId)).toEqual({
      exitCode: 1,
      out: [],
      errors: [`Key ${keyId} is revoked, and that is for ever.`],
    });
  });

  test.each([
    ["--expires", "2026-03-14"],
    ["--expires", "2026-02-30"],
    ["--expires", "2027-02-29"],
    ["--expires", "tomorrow"],
    ["--expires", "2027-01-01T00:00:00"],
    ["--expires", "2027-13-01"],
    ["--expires", "1999999999"],
    ["--expires", "2027-01-01T25:00:00Z"],
    ["--budget-usd", "1"],
    ["--budget-window", "day"],
    ["--scope", "admin"],
    ["--name", " "],
    ["--name", "a\u001b[2Jb"],
    ["--name", "x".repeat(201)],
  ])("issue with %s %j is wrong usage and issues nothing", async (flag, value) => {
    const accountId = await createAccount();
    const shown = await terminal.run("key", "issue", "--account", accountId, flag, value);
    expect(shown).toMatchObject({ exitCode: 2, out: [] });
    expect(shown.errors).toHaveLength(1);
    expect(await terminal.json("key", "list")).toEqual({ keys: [] });
  });

  test.each(["24", "h", "1.5h", "-1h", "24 h", "1w", "366d", "999999999d", ""])(
    "a grace of %j is wrong usage and rotates nothing",
    async (grace) => {
      const { key, keyId } = await issueKey(await createAccount());
      expect(await terminal.run("key", "rotate", keyId, `--grace=${grace}`)).toMatchObject({
        exitCode: 2,
        out: [],
      });
      expect(await terminal.json("key", "list")).toMatchObject({
        keys: [{ secrets: [{ last4: key.slice(-4), expires_at: null }] }],
      });
    },
  );
});

describe("ids nobody has", () => {
  const unknownAccount = [
    ["account", "show", "acc_x"],
    ["account", "update", "acc_x", "--suspend"],
    ["topup", "--account", "acc_x", "--usd", "1"],
    ["adjust", "--account", "acc_x", "--usd", "-1", "--reason", "r"],
    ["key", "issue", "--account", "acc_x"],
    ["key", "list", "--account", "acc_x"],
  ];
  const unknownKey = [
    ["key", "update", "key_x", "--name", "n"],
    ["key", "rotate", "key_x"],
    ["key", "revoke", "key_x"],
  ];
  const all = [
    ...unknownAccount.map((words) => ({ words, sentence: "There is no account acc_x." })),
    ...unknownKey.map((words) => ({ words, sentence: "There is no key key_x." })),
  ];
  test.each(all)("$words: one sentence on stderr, exit code 1", async ({ words, sentence }) => {
    expect(await terminal.run(...words)).toEqual({ exitCode: 1, out: [], errors: [sentence] });
    const shown = await terminal.run(...words, "--json");
    expect(shown).toMatchObject({ exitCode: 1, out: [] });
    expect(shown.errors.map((line): unknown => JSON.parse(line))).toEqual([{ error: sentence }]);
  });

  test("a secret given where an id belongs is not repeated", async () => {
    const { key } = await issueKey(await createAccount());
    for (const words of [
      ["key", "revoke", key],
      ["key", "rotate", key],
      ["account", "show", key],
      ["key", "list", key],
      [key],
      ["key", key],
      [`--${key}`],
      ["key", "list", `--${key}`],
      ["key", "revoke", "a", key],
      ["key", "issue", "--account", key],
      ["help", key],
    ]) {
      for (const flags of [[], ["--json"]]) {
        const shown = await terminal.run(...words, ...flags);
        expect(shown.exitCode).toBeGreaterThan(0);
        expect(shown.errors).toHaveLength(1);
        expect([...shown.out, ...shown.errors].join("\n")).not.toContain(key);
      }
    }
  });
});

describe("wrong usage", () => {
  test.each([
    [[], 'No command is given; "tollgate help" lists them.'],
    [["--json"], 'No command is given; "tollgate help" lists them.'],
    [["fly"], 'There is no command "fly"; "tollgate help" lists them.'],
    [["account"], '"tollgate account" is followed by one of: create, list, show, update, ledger, usage.'],
    [
      ["account", "close", "acc_x"],
      '"tollgate account" is followed by one of: create, list, show, update, ledger, usage.',
    ],
    [["account", "create"], "--name N is missing."],
    [["account", "create", "--name"], "--name needs a value: --name N."],
    [["account", "create", "--name="], "--name needs a value: --name N."],
    [["account", "create", "--name", "--tier", "free"], "--name needs a value: --name N."],
    [["account", "create", "--name", "a", "--name", "b"], "--name is given twice."],
    [["account", "create", "--name", "a", "--name=b"], "--name is given twice."],
    [["account", "create", "--nam", "a"], "Unknown flag --nam."],
    [["account", "create", "--name", "a", "--toString", "b"], "Unknown flag --toString."],
    [["account", "create", "--name", "a", "--"], "Unknown flag --."],
    [["account", "create", "--name", "a", "extra"], 'Unexpected word "extra".'],
    [["account", "create", "--name", "a", "--json", "--json"], "--json is given twice."],
    [["account", "create", "--name", "a", "--json=yes"], "--json takes no value."],
    [
      ["account", "create", "--name", "a", "--tier", "gold"],
      "--tier takes one of free, starter, growth, enterprise.",
    ],
    [["account", "create", "--name", "a", "--credit-usd", "-1"], "--credit-usd must not be negative."],
    [
      ["account", "create", "--name", "a", "--plan-multiplier", "-1"],
      "--plan-multiplier takes a number from 0 to 100 with at most 6 decimals, like 0.9.",
    ],
    [["account", "show"], "ID is missing."],
    [["account", "show", "a", "b"], 'Unexpected word "b".'],
    [
      ["account", "update", "a"],
      "Nothing to change: give --name, --tier, --plan-multiplier, --rpm, --tpm, --concurrency, " +
        "--no-granted-limits, --suspend or --resume.",
    ],
    [["account", "update", "a", "--rpm", "0"], "--rpm takes a whole number from 1."],
    [
      ["account", "update", "a", "--tpm", "5", "--no-granted-limits"],
      "--no-granted-limits excludes --rpm, --tpm and --concurrency.",
    ],
    [["account", "update", "a", "--suspend", "--resume"], "--suspend and --resume exclude each other."],
    [["account", "update", "a", "--suspend=yes"], "--suspend takes no value."],
    [["topup", "--usd", "1"], "--account ID is missing."],
    [["adjust", "--account", "a", "--usd", "1"], "--reason R is missing."],
    [["key", "update", "k", "--budget-usd", "1"], "A budget needs both --budget-usd and --budget-window."],
    [
      ["key", "update", "k", "--budget-usd", "1", "--budget-window", "day", "--no-budget"],
      "--budget-usd and --no-budget exclude each other.",
    ],
    [
      ["key", "update", "k", "--expires", "2030-01-01", "--no-expiry"],
      "--expires and --no-expiry exclude each other.",
    ],
    [["backup"], "FILE is missing."],
    [["backup", "folder", "--keep", "0"], "--keep takes a whole number from 1."],
    [["serve", "--port", "1"], "Unknown flag --port."],
  ])("%j", async (words, sentence) => {
    const shown = await terminal.run(...words);
    expect(shown).toMatchObject({ exitCode: 2, out: [] });
    const asJson = words.some((word) => word === "--json");
    expect(shown.errors).toEqual([asJson ? JSON.stringify({ error: sentence }) : sentence]);
    expect(opened).toBe(0);
  });

  test("a store that cannot be opened is one sentence and exit code 1", async () => {
    const broken = createTerminal({
      openStore: () => Promise.reject(new Error("The data folder is locked.")),
    });
    expect(await broken.run("account", "list")).toEqual({
      exitCode: 1,
      out: [],
      errors: ["The data folder is locked."],
    });
  });
});

describe("help", () => {
  test("lists every command with its flags", async () => {
    const { exitCode, out } = await terminal.run("help");
    expect(exitCode).toBe(0);
    const text = out.join("\n");
    for (const usage of [
      "tollgate serve [--allow-sandbox-public]",
      "tollgate account create --name N [--tier T] [--credit-usd X] [--plan-multiplier M]",
      "tollgate account list",
      "tollgate account show ID",
      "tollgate account update ID [--name N] [--tier T] [--plan-multiplier M] [--rpm N] [--tpm N] [--concurrency N]",
      "tollgate account ledger ACCOUNT_ID [--limit N] [--before ID|TIME]",
      "tollgate account usage ACCOUNT_ID [--from DATE] [--to DATE] [--by day|key|model|operation]",
      "tollgate topup --account ID --usd X",
      "tollgate adjust --account ID --usd ±X --reason R",
      "tollgate key issue --account ID [--name N] [--scope key|account]",
      "tollgate key list [--account ID]",
      "tollgate key rotate KEY_ID [--grace 24h]",
      "tollgate key revoke KEY_ID",
      "tollgate link list [--account ID] [--key KEY_ID]",
      "tollgate link revoke LINK_ID",
      "tollgate audit",
      "tollgate doctor [--ask]",
      "tollgate contract [--out FILE] [--account]",
      "tollgate grant list [--account ID]",
      "tollgate grant revoke GRANT_ID",
      "tollgate quota list [--state S]",
      "tollgate quota approve ID [--tier T] [--rpm N] [--tpm N] [--concurrency N]",
      "tollgate quota deny ID",
      "tollgate backup FILE [--keep N]",
      "tollgate restore FILE",
      "tollgate call OPERATION_ID [--arg NAME=TEXT …] [--json-arg NAME=JSON …] [--max-price-usd X]",
      "tollgate quote OPERATION_ID [--arg NAME=TEXT …] [--json-arg NAME=JSON …]",
      "tollgate usage [--days N]",
      "tollgate receipt REQUEST_ID",
      "tollgate watch TASK_ID [--timeout-seconds N]",
      "tollgate version",
    ]) {
      expect(text).toContain(usage);
    }
    expect((await terminal.run("--help")).out).toEqual([...out]);
    const { commands } = await terminal.json("help");
    expect(commands).toHaveLength(33);
  });

  test("--help explains one command or one family, and runs nothing", async () => {
    const issue = await terminal.run("key", "issue", "--account", "--help");
    expect(issue).toMatchObject({ exitCode: 0, errors: [] });
    expect(issue.out[0]).toStartWith("tollgate key issue --account ID");
    expect(issue.out.join("\n")).toContain("--budget-usd X");
    expect((await terminal.run("help", "key", "issue")).out).toEqual([...issue.out]);
    const family = await terminal.json("key", "--help");
    expect(family["commands"]).toHaveLength(5);
    expect((await terminal.run("revoke", "--help")).exitCode).toBe(2);
    expect(opened).toBe(0);
  });
});

test("the version and help are told to whoever asks in the usual words", async () => {
  for (const words of [["version"], ["--version"]]) {
    expect(await terminal.run(...words)).toEqual({ exitCode: 0, out: ["tollgate 1.2.3"], errors: [] });
    expect(await terminal.json(...words)).toEqual({ version: "1.2.3" });
  }
  for (const words of [[], ["key"], ["key", "issue"], ["key", "issue", "--account", "a"]]) {
    const asked = await terminal.run(...words, "-h");
    expect(asked).toEqual(await terminal.run(...words, "--help"));
    expect(asked.exitCode).toBe(0);
  }
  expect(opened).toBe(0);
});

describe("audit", () => {
  test("says what was checked and that it balances", async () => {
    const accountId = await createAccount("--credit-usd", "3");
    await terminal.json("topup", "--account", accountId, "--usd", "4");
    const { keyId } = await issueKey(accountId);
    await holdFor(accountId, keyId, 1_000n);
    expect(await terminal.run("audit")).toEqual({
      exitCode: 0,
      out: ["Checked 1 accounts, 1 calls and 4 entries.", "The books balance."],
      errors: [],
    });
    expect(await terminal.json("audit")).toEqual({
      balanced: true,
      accounts: 1,
      calls: 1,
      entries: 4,
      findings: [],
      truncated: false,
    });
  });
});

describe("serve, backup and restore", () => {
  test("serve hands its flag on and its exit code back", async () => {
    const served: boolean[] = [];
    const serving = createTerminal({
      openStore: () => Promise.reject(new Error("serve opens its own store")),
      serve: async ({ allowSandboxPublic }) => {
        served.push(allowSandboxPublic);
        return allowSandboxPublic ? 0 : 7;
      },
    });
    expect(await serving.run("serve")).toEqual({ exitCode: 7, out: [], errors: [] });
    expect(await serving.run("serve", "--allow-sandbox-public", "--json")).toEqual({
      exitCode: 0,
      out: [],
      errors: [],
    });
    expect(served).toEqual([false, true]);
  });

  test("backup and restore name the file, and pass on why it cannot be done", async () => {
    const files: string[] = [];
    const take = async (file: string): Promise<undefined> => {
      if (file === "bad") throw new Error("A server is running on this data; stop it first.");
      files.push(file);
    };
    const copying = createTerminal({
      openStore: () => Promise.reject(new Error("no")),
      backUp: take,
      restore: take,
    });
    expect((await copying.run("backup", "a.db")).out).toEqual(["The data is backed up in a.db."]);
    expect(await copying.json("backup", "b.db")).toEqual({ file: "b.db" });
    const rotating = createTerminal({
      openStore: () => Promise.reject(new Error("no")),
      backUpInto: async (place, keep) => ({ file: `${place}/new.db`, deleted: keep === 7 ? ["old.db"] : [] }),
    });
    expect((await rotating.run("backup", "safe", "--keep", "7")).out).toEqual([
      "The data is backed up in safe/new.db.",
      "old.db was older than those to keep, and is deleted.",
    ]);
    expect(await rotating.json("backup", "safe", "--keep", "8")).toEqual({
      file: "safe/new.db",
      deleted: [],
    });
    expect((await copying.run("restore", "c.db")).out).toEqual(["The data is what c.db holds."]);
    expect(await copying.json("restore", "d.db")).toEqual({
      file: "d.db",
      kept: null,
      lacks_secret: false,
    });
    expect(files).toEqual(["a.db", "b.db", "c.db", "d.db"]);
    const replacing = createTerminal({
      openStore: () => Promise.reject(new Error("no")),
      restore: async () => "data/tollgate.db.before-restore-1",
    });
    expect((await replacing.run("restore", "e.db")).out).toEqual([
      "The data is what e.db holds.",
      "What was there before is kept as data/tollgate.db.before-restore-1; delete it when nobody misses it.",
    ]);
    const told: boolean[] = [];
    const overMoved = createTerminal({
      openStore: () => Promise.reject(new Error("no")),
      restore: async (_file, options) => void told.push(options.overMoved),
    });
    await overMoved.run("restore", "f.db");
    await overMoved.run("restore", "f.db", "--over-moved-books");
    expect(told).toEqual([false, true]);
    for (const command of ["backup", "restore"]) {
      expect(await copying.run(command, "bad")).toEqual({
        exitCode: 1,
        out: [],
        errors: ["A server is running on this data; stop it first."],
      });
    }
  });
});
