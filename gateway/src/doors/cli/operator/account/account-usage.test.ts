import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteStore } from "../../../../stores/sqlite/sqlite-store.ts";
import { createBookkeeper, type Bookkeeper } from "../../test-bookkeeper.ts";
import { createTerminal, type Terminal } from "../../test-terminal.ts";

const dayMs = 86_400_000;

let folder: string;
let terminal: Terminal;
let books: Bookkeeper;
let accountId: string;
let first: string;
let second: string;

/** Four calls of two keys on three days, the last of which is 16 March 2026. */
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-cli-usage-"));
  const openStore = async () => openSqliteStore({ path: join(folder, "tollgate.db") });
  terminal = createTerminal({ openStore });
  books = createBookkeeper(openStore, terminal.nowMs);
  const account = await terminal.json("account", "create", "--name", "Ada", "--credit-usd", "2");
  accountId = String(account["account_id"]);
  const issue = async (name: string) =>
    String((await terminal.json("key", "issue", "--account", accountId, "--name", name))["key_id"]);
  first = await issue("ci");
  second = await issue("web");
  const chat = { operationId: "chat", used: { input_tokens: 7, cache_read_tokens: 2, output_tokens: 5 } };
  const small = { ...chat, model: "small", asked: ["openai", "spare"] };
  const large = { ...chat, model: "large", asked: ["openai"] };
  await books.call({ callId: "call-1", accountId, keyId: first, micros: 100n, ...small });
  terminal.pass(dayMs);
  await books.call({ callId: "call-2", accountId, keyId: second, micros: 3_000n, ...large });
  await books.call({ callId: "call-3", accountId, keyId: second, micros: 50n, fails: true });
  terminal.pass(dayMs);
  await books.call({ callId: "call-4", accountId, keyId: first, micros: 20n, asked: ["openai"] });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const usage = (...words: string[]) => terminal.json("account", "usage", accountId, ...words);

const totals = {
  requests: 4,
  failed_requests: 1,
  input_tokens: 14,
  output_tokens: 10,
  cache_read_tokens: 4,
  cache_write_tokens: 0,
  usage_value_micros_usd: 3_120,
  charged_micros_usd: 3_120,
};

test("the same total is told day by day, by key, by model, by operation and by upstream, and it is the ledger's", async () => {
  const byDay = await usage();
  expect(byDay).toMatchObject({
    account_id: accountId,
    by: "day",
    from: "2026-03-10",
    to: "2026-03-16",
    totals,
  });
  expect(byDay["groups"]).toHaveLength(7);
  expect(byDay["groups"]).toMatchObject([
    ...["10", "11", "12", "13"].map((day) => ({ day: `2026-03-${day}`, requests: 0 })),
    { day: "2026-03-14", requests: 1, charged_micros_usd: 100 },
    { day: "2026-03-15", requests: 2, failed_requests: 1, charged_micros_usd: 3_000 },
    { day: "2026-03-16", requests: 1, charged_micros_usd: 20 },
  ]);
  expect(await usage("--by", "key")).toMatchObject({
    totals,
    groups: [
      { key_id: second, name: "web", requests: 2, charged_micros_usd: 3_000 },
      { key_id: first, name: "ci", requests: 2, charged_micros_usd: 120 },
    ],
  });
  expect(await usage("--by", "model")).toMatchObject({
    totals,
    groups: [
      { model: "large", requests: 1, input_tokens: 7, charged_micros_usd: 3_000 },
      { model: "small", requests: 1, output_tokens: 5, charged_micros_usd: 100 },
      { model: null, requests: 2, failed_requests: 1, input_tokens: 0, charged_micros_usd: 20 },
    ],
  });
  expect(await usage("--by", "operation")).toMatchObject({
    totals,
    groups: [
      { operation_id: "chat", requests: 2, charged_micros_usd: 3_100 },
      { operation_id: "test.call", requests: 2, failed_requests: 1, charged_micros_usd: 20 },
    ],
  });
  expect(await usage("--by", "upstream")).toMatchObject({
    totals,
    groups: [
      { upstream: "openai", requests: 2, charged_micros_usd: 3_020 },
      { upstream: "spare", requests: 1, charged_micros_usd: 100 },
      { upstream: null, requests: 1, failed_requests: 1, charged_micros_usd: 0 },
    ],
  });
  expect(await terminal.json("account", "ledger", accountId)).toMatchObject({
    sum_micros_usd: 2_000_000 - totals.charged_micros_usd,
  });
});

/** Another account with a call of each of two models, and one without any; the id of the first. */
async function openOthers(): Promise<string> {
  const open = async (name: string) =>
    String((await terminal.json("account", "create", "--name", name, "--credit-usd", "2"))["account_id"]);
  const other = await open("Grace Hopper");
  await open("idle");
  const keyId = String((await terminal.json("key", "issue", "--account", other))["key_id"]);
  const call = { accountId: other, keyId, operationId: "chat", used: { input_tokens: 3 } };
  await books.call({ callId: "call-5", micros: 5_000n, ...call, model: "small", asked: ["spare"] });
  await books.call({ callId: "call-6", micros: 1n, ...call, model: "large", asked: ["openai"] });
  return other;
}

test("without an account the sum over all of them is told, by each of which it is the same", async () => {
  const other = await openOthers();
  const whole = (...words: string[]) => terminal.json("account", "usage", ...words);
  const both = { ...totals, requests: 6, input_tokens: 20 };
  const sum = { ...both, usage_value_micros_usd: 8_121, charged_micros_usd: 8_121 };
  const byDay = await whole();
  expect(byDay).toMatchObject({
    account_id: null,
    by: "day",
    from: "2026-03-10",
    to: "2026-03-16",
    totals: sum,
  });
  expect((byDay["groups"] as object[]).slice(3)).toMatchObject([
    { day: "2026-03-13", requests: 0 },
    { day: "2026-03-14", requests: 1, charged_micros_usd: 100 },
    { day: "2026-03-15", requests: 2, charged_micros_usd: 3_000 },
    { day: "2026-03-16", requests: 3, charged_micros_usd: 5_021 },
  ]);
  const { totals: othersTotals } = await terminal.json("account", "usage", other);
  expect(await whole("--by", "account")).toMatchObject({
    totals: sum,
    groups: [
      { account_id: other, name: "Grace Hopper", ...(othersTotals as object) },
      { account_id: accountId, name: "Ada", ...totals },
    ],
  });
  expect(await whole("--by", "model")).toMatchObject({
    totals: sum,
    groups: [
      { model: "small", requests: 2, charged_micros_usd: 5_100 },
      { model: "large", requests: 2, charged_micros_usd: 3_001 },
      { model: null, requests: 2, failed_requests: 1, charged_micros_usd: 20 },
    ],
  });
  expect(await whole("--by", "operation")).toMatchObject({
    totals: sum,
    groups: [
      { operation_id: "chat", requests: 4, charged_micros_usd: 8_101 },
      { operation_id: "test.call", requests: 2, charged_micros_usd: 20 },
    ],
  });
  expect(await whole("--by", "upstream")).toMatchObject({
    totals: sum,
    groups: [
      { upstream: "spare", requests: 2, charged_micros_usd: 5_100 },
      { upstream: "openai", requests: 3, charged_micros_usd: 3_021 },
      { upstream: null, requests: 1, failed_requests: 1, charged_micros_usd: 0 },
    ],
  });
  const yesterday = ["--from", "2026-03-15", "--to", "2026-03-15"];
  for (const by of ["day", "account", "model", "operation", "upstream"])
    expect((await whole("--by", by, ...yesterday))["totals"]).toMatchObject({ charged_micros_usd: 3_000 });
});

test("people see whose accounts they are, and the total of all", async () => {
  const other = await openOthers();
  const { exitCode, out } = await terminal.run("account", "usage", "--by", "account");
  expect(exitCode).toBe(0);
  expect(out).toHaveLength(4);
  expect(out[0]).toMatch(/^ACCOUNT +NAME +CALLS +FAILED +TOKENS IN +TOKENS OUT +VALUE +CHARGED$/);
  expect(out[1]).toMatch(new RegExp(`^${other} +Grace Hopper +2 +0 +6 +0 +0\\.005001 USD +0\\.005001 USD$`));
  expect(out[2]).toMatch(new RegExp(`^${accountId} +Ada +4 +1 `));
  expect(out.at(-1)).toMatch(/^total +6 +1 +24 +10 +0\.008121 USD +0\.008121 USD$/);
});

test("people see a table that ends with the total", async () => {
  const { exitCode, out } = await terminal.run("account", "usage", accountId, "--by", "key");
  expect(exitCode).toBe(0);
  expect(out[0]).toMatch(/^KEY +NAME +CALLS +FAILED +TOKENS IN +TOKENS OUT +VALUE +CHARGED$/);
  expect(out[1]).toMatch(new RegExp(`^${second} +web +2 +1 +9 +5 +0\\.003 USD +0\\.003 USD$`));
  expect(out.at(-1)).toMatch(/^total +4 +1 +18 +10 +0\.00312 USD +0\.00312 USD$/);
  const models = await terminal.run("account", "usage", accountId, "--by", "model");
  expect(models.out[3]).toMatch(/^none +2 +1 +0 +0 +0\.00002 USD/);
});

test("both days of a span are in it", async () => {
  for (const by of ["day", "key", "model", "operation"]) {
    const requests = async (...span: string[]) =>
      ((await usage("--by", by, ...span))["totals"] as { requests: number }).requests;
    expect(await requests("--from", "2026-03-14", "--to", "2026-03-15")).toBe(3);
    expect(await requests("--from", "2026-03-15", "--to", "2026-03-15")).toBe(2);
    expect(await requests("--from", "2026-03-16")).toBe(1);
    expect(await requests("--to", "2026-03-13")).toBe(0);
  }
});

test("what cannot be shown is one sentence", async () => {
  const said = async (...words: string[]) => {
    const { exitCode, out, errors } = await terminal.run("account", "usage", ...words);
    return [exitCode, out, errors];
  };
  const wrong = (sentence: string) => [2, [], [sentence]];
  expect(await said("acc_none")).toEqual([1, [], ["There is no account acc_none."]]);
  expect(await said(accountId, "--by", "hour")).toEqual(
    wrong("--by takes one of day, account, key, model, operation, upstream."),
  );
  expect(await said(accountId, "--by", "account")).toEqual(
    wrong("--by account is about all accounts: leave the ACCOUNT_ID out."),
  );
  expect(await said("--by", "key")).toEqual(wrong("--by key is about one account: give its ACCOUNT_ID."));
  for (const day of ["2026-02-30", "yesterday", "2026-03-14T00:00:00Z"])
    expect(await said(accountId, "--from", day)).toEqual(wrong("--from takes a UTC day like 2030-01-31."));
  expect(await said(accountId, "--from", "2026-03-17")).toEqual(
    wrong("--from must not lie after 2026-03-16."),
  );
  expect(await said(accountId, "--from", "2025-02-09")).toEqual(
    wrong("By day, --from and --to may span 400 days at most."),
  );
  expect((await said(accountId, "--from", "2025-02-10"))[0]).toBe(0);
  expect(await said(accountId, "--from", "2026-02-13", "--by", "model")).toEqual(
    wrong("By model, --from and --to may span 31 days at most."),
  );
  expect((await said(accountId, "--from", "2026-02-14", "--by", "operation"))[0]).toBe(0);
  expect(await said("--from", "2026-02-13", "--by", "upstream")).toEqual(
    wrong("By upstream, --from and --to may span 31 days at most."),
  );
  expect((await said("--from", "2025-02-10", "--by", "account"))[0]).toBe(0);
});
