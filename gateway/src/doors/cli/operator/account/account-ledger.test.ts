import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteStore } from "../../../../stores/sqlite/sqlite-store.ts";
import { createBookkeeper, type Bookkeeper } from "../../test-bookkeeper.ts";
import { createTerminal, type Terminal } from "../../test-terminal.ts";

let folder: string;
let terminal: Terminal;
let books: Bookkeeper;
let accountId: string;
let keyId: string;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-cli-ledger-"));
  const openStore = async () => openSqliteStore({ path: join(folder, "tollgate.db") });
  terminal = createTerminal({ openStore });
  books = createBookkeeper(openStore, terminal.nowMs);
  const account = await terminal.json("account", "create", "--name", "Ada", "--credit-usd", "2");
  accountId = String(account["account_id"]);
  keyId = String((await terminal.json("key", "issue", "--account", accountId))["key_id"]);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A top-up, a correction and two charges, a second after each other. */
async function live(): Promise<void> {
  terminal.pass(1_000);
  await terminal.json("topup", "--account", accountId, "--usd", "100");
  terminal.pass(1_000);
  await books.call({ callId: "call-1", accountId, keyId, micros: 48_000n });
  terminal.pass(1_000);
  const reason = ["--reason", "sent back by hand"];
  await terminal.json("adjust", "--account", accountId, "--usd", "-1.5", ...reason);
  terminal.pass(1_000);
  await books.call({ callId: "call-2", accountId, keyId, micros: 1n, model: "gpt-x" });
}

test("the ledger shows payments with their reasons and charges with their calls, and its sum is the balance", async () => {
  await live();
  const { balance_micros_usd: balance } = await terminal.json("account", "show", accountId);
  expect(balance).toBe(100_451_999);
  const ledger = await terminal.json("account", "ledger", accountId);
  expect(ledger).toMatchObject({
    account_id: accountId,
    balance_micros_usd: balance,
    sum_micros_usd: balance,
    has_more: false,
    next_before: null,
  });
  const payment = { operation_id: null, model: null, key_id: null };
  expect(ledger["entries"]).toEqual([
    {
      id: "call-2",
      kind: "charge",
      booked_at: "2026-03-14T12:00:04.000Z",
      amount_micros_usd: -1,
      balance_micros_usd: 100_451_999,
      reason: null,
      operation_id: "test.call",
      model: "gpt-x",
      key_id: keyId,
    },
    {
      ...payment,
      id: expect.stringMatching(/^adjustment:/) as unknown,
      kind: "adjustment",
      booked_at: "2026-03-14T12:00:03.000Z",
      amount_micros_usd: -1_500_000,
      balance_micros_usd: 100_452_000,
      reason: "sent back by hand",
    },
    {
      id: "call-1",
      kind: "charge",
      booked_at: "2026-03-14T12:00:02.000Z",
      amount_micros_usd: -48_000,
      balance_micros_usd: 101_952_000,
      reason: null,
      operation_id: "test.call",
      model: null,
      key_id: keyId,
    },
    {
      ...payment,
      id: expect.stringMatching(/^top_up:/) as unknown,
      kind: "top_up",
      booked_at: "2026-03-14T12:00:01.000Z",
      amount_micros_usd: 100_000_000,
      balance_micros_usd: 102_000_000,
      reason: null,
    },
    {
      ...payment,
      id: `grant:${accountId}`,
      kind: "grant",
      booked_at: "2026-03-14T12:00:00.000Z",
      amount_micros_usd: 2_000_000,
      balance_micros_usd: 2_000_000,
      reason: "signup credit",
    },
  ]);
});

test("people see the same in a table, and what it sums to", async () => {
  await live();
  const { exitCode, out } = await terminal.run("account", "ledger", accountId);
  expect(exitCode).toBe(0);
  expect(out).toHaveLength(7);
  expect(out[0]).toMatch(/^BOOKED +KIND +AMOUNT +BALANCE +ABOUT +ID$/);
  expect(out[1]).toMatch(/ charge +-0\.000001 USD +100\.451999 USD +test\.call \(gpt-x\) +call-2$/);
  expect(out[2]).toMatch(/ adjustment +-1\.5 USD +100\.452 USD +sent back by hand +adjustment:/);
  expect(out[4]).toMatch(/ top_up +\+100 USD +102 USD +top_up:/);
  expect(out[6]).toBe("The entries shown sum to 100.451999 USD; the balance is 100.451999 USD.");
});

test("an id that a shell would take apart is told as it is to be typed", async () => {
  for (const reference of ["invoice 7; rm -rf", "Ada's"]) {
    terminal.pass(1_000);
    await terminal.json("topup", "--account", accountId, "--usd", "1", "--reference", reference);
    const { out } = await terminal.run("account", "ledger", accountId, "--limit", "1");
    const typed = out.at(-1)?.replace("There are older ones: --before ", "");
    const read = Bun.spawnSync(["bash", "-c", `printf '%s|' ${typed}`]).stdout.toString();
    expect(read).toBe(`top_up:${accountId}:${reference}|`);
  }
});

test("a page that is cut says how to go on, with ids and with times", async () => {
  await live();
  const first = await terminal.run("account", "ledger", accountId, "--limit", "3");
  expect(first.out).toHaveLength(6);
  expect(first.out.at(-2)).toBe("The entries shown sum to -1.548001 USD; the balance is 100.451999 USD.");
  expect(first.out.at(-1)).toBe("There are older ones: --before call-1");
  for (const before of ["call-1", "2026-03-14T12:00:02Z"]) {
    const page = await terminal.json("account", "ledger", accountId, "--before", before);
    expect(page).toMatchObject({
      has_more: false,
      balance_micros_usd: 100_451_999,
      sum_micros_usd: 102_000_000,
      entries: [{ kind: "top_up", balance_micros_usd: 102_000_000 }, { kind: "grant" }],
    });
  }
  expect((await terminal.run("account", "ledger", accountId, "--before", "2026-03-14")).out).toEqual([
    "No entries.",
    "The entries shown sum to 0 USD; the balance is 100.451999 USD.",
  ]);
});

test("what cannot be shown is one sentence", async () => {
  const said = async (...words: string[]) => {
    const { exitCode, out, errors } = await terminal.run("account", "ledger", ...words);
    return [exitCode, out, errors];
  };
  expect(await said("acc_none")).toEqual([1, [], ["There is no account acc_none."]]);
  expect(await said(accountId, "--before", "call-9")).toEqual([
    1,
    [],
    [`There is no entry call-9 in the ledger of account ${accountId}.`],
  ]);
  expect(await said(accountId, "--limit", "1001")).toEqual([2, [], ["--limit takes at most 1000."]]);
  expect(await said(accountId, "--limit", "0")).toEqual([2, [], ["--limit takes a whole number from 1."]]);
  expect(await said(accountId, "--before", "2026-02-30")).toEqual([
    2,
    [],
    ["--before takes a date like 2030-01-31 (0:00 UTC) or 2030-01-31T18:00:00Z."],
  ]);
});
