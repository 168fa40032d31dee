import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { createSecret, isWellFormedKey } from "../../../../keys/key-format.ts";
import { useTestBooks } from "../../test-books.ts";

const { terminal, path, withBooks, findCredential, createAccount, issueKey, holdFor } = useTestBooks();

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
      const shown = await terminal.run("key", "revoke", secret);
      const sentence =
        prefix === "tgk_"
          ? 'That is a key itself; this command takes its id, which "tollgate key list" shows.'
          : "There is no key [key].";
      expect(shown).toEqual({ exitCode: 1, out: [], errors: [sentence] });
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
    const files = [path(), `${path()}-wal`].filter((file) => existsSync(file));
    const stored = Buffer.concat(files.map((file) => readFileSync(file)));
    expect(stored.includes(keyId)).toBe(true);
    for (const secret of [key, rotated]) expect(stored.includes(secret.slice(4, 20))).toBe(false);
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
    expect(await findCredential(key)).toMatchObject({ keyId });
    const rotated = String((await terminal.json("key", "rotate", keyId, "--grace", "0s"))["key"]);
    expect(await findCredential(key)).toBeUndefined();
    expect(await findCredential(rotated)).toMatchObject({ keyId });
    const { out } = await terminal.run("key", "rotate", keyId, "--grace", "0s");
    expect(out.at(-2)).toStartWith("The old secret has ended; a running server follows within 5 s. ");
  });

  test("the help of rotation tells the day of grace, and how an old secret that leaked ends", async () => {
    const { out } = await terminal.run("key", "rotate", "--help");
    const grace = out.find((line) => line.includes("--grace 24h  "));
    expect(grace).toEndWith("24h when not given, 0s when it has leaked");
  });

  test("a grace that goes past the end of the key is told as ending with it", async () => {
    const { key: old, keyId } = await issueKey(await createAccount(), "--expires", "2026-03-15T00:00:00Z");
    const { out } = await terminal.run("key", "rotate", keyId, "--grace", "7d");
    expect(out.at(-2)).toStartWith("The old secret works until 2026-03-15T00:00:00.000Z. ");
    expect((await terminal.json("key", "list"))["keys"]).toMatchObject([
      { secrets: [{ expires_at: null }, { last4: old.slice(-4), expires_at: "2026-03-15T00:00:00.000Z" }] },
    ]);
    // Whoever prolongs the key has the whole grace.
    await terminal.json("key", "update", keyId, "--no-expiry");
    terminal.pass(6 * 86_400_000);
    expect(await findCredential(old)).toMatchObject({ keyId });
  });

  test("an expired key gets no new secret, which would not work either, and what helps is said", async () => {
    const { keyId } = await issueKey(await createAccount(), "--expires", "2026-03-15T00:00:00Z");
    terminal.pass(86_400_000);
    expect(await terminal.run("key", "rotate", keyId)).toEqual({
      exitCode: 1,
      out: [],
      errors: [
        `Key ${keyId} expired at 2026-03-15T00:00:00.000Z, and a new secret would not work either. Give it time first: ` +
          `tollgate key update ${keyId} --expires DATE, or --no-expiry.`,
      ],
    });
    await terminal.json("key", "update", keyId, "--no-expiry");
    const renewed = String((await terminal.json("key", "rotate", keyId))["key"]);
    expect(await findCredential(renewed)).toMatchObject({ keyId });
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
