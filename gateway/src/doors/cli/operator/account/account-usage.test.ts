import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteStore } from "../../../../stores/sqlite/sqlite-store.ts";
import { createBookkeeper } from "../../test-bookkeeper.ts";
import { createTerminal, type Terminal } from "../../test-terminal.ts";

const dayMs = 86_400_000;

let folder: string;
let terminal: Terminal;
let accountId: string;
let first: string;
let second: string;

/** Four calls of two keys on three days, the last of which is 16 March 2026. */
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-cli-usage-"));
  const openStore = async () => openSqliteStore({ path: join(folder, "tollgate.db") });
  terminal = createTerminal({ openStore });
  const books = createBookkeeper(openStore, terminal.nowMs);
  const account = await terminal.json("account", "create", "--name", "Ada", "--credit-usd", "2");
  accountId = String(account["account_id"]);
  const issue = async (name: string) =>
    String((await terminal.json("key", "issue", "--account", accountId, "--name", name))["key_id"]);
  first = await issue("ci");
  second = await issue("web");
  const chat = { operationId: "chat", used: { input_tokens: 7, cache_read_tokens: 2, output_tokens: 5 } };
  await books.call({ callId: "call-1", accountId, keyId: first, micros: 100n, ...chat, model: "small" });
  terminal.pass(dayMs);
  await books.call({ callId: "call-2", accountId, keyId: second, micros: 3_000n, ...chat, model: "large" });
  await books.call({ callId: "call-3", accountId, keyId: second, micros: 50n, fails: true });
  terminal.pass(dayMs);
  await books.call({ callId: "call-4", accountId, keyId: first, micros: 20n });
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

test("the same total is told day by day, by key, by model and by operation, and it is the ledger's", async () => {
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
  expect(await terminal.json("account", "ledger", accountId)).toMatchObject({
    sum_micros_usd: 2_000_000 - totals.charged_micros_usd,
  });
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
    wrong("--by takes one of day, key, model, operation."),
  );
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
});
