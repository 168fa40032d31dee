// The operator reads the books with the real program while a real server writes them.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { callerAt } from "../support/caller.ts";
import { openGatewayProcess, type GatewayProcess } from "../support/gateway-process.ts";
import { chatBody, chatPath, snapshotPath } from "../support/purchases.ts";
import { runTollgate, toldIn, type Ran } from "../support/run-tollgate.ts";
import { asynchronous, createPath, stuck, video } from "../tasks/task-caller.ts";

let folder: string;
let gateway: GatewayProcess;
let accountId: string;
let keyId: string;
let key: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-books-"));
  gateway = await openGatewayProcess({ dataFolder: folder });
  accountId = String((await json("account", "create", "--name", "Ada", "--credit-usd", "5"))["account_id"]);
  const issued = await json("key", "issue", "--account", accountId, "--name", "ci");
  keyId = String(issued["key_id"]);
  key = String(issued["key"]);
});
afterAll(async () => {
  gateway.signal("SIGKILL");
  await gateway.exited;
  rmSync(folder, { recursive: true, force: true });
});

const tollgate = (...words: string[]): Promise<Ran> =>
  runTollgate(words, { folder, environment: { TOLLGATE_DATA: folder } });

const json = async (...words: string[]): Promise<Record<string, unknown>> =>
  toldIn(await tollgate(...words, "--json"));

const call = (path: string): Promise<Response> => callerAt(gateway.url).call({ key }, path);
const post = (path: string, body: object, headers = {}): Promise<Response> =>
  callerAt(gateway.url).post({ key }, path, body, headers);

const chat = chatBody({ model: "gpt-4o-mini", max_tokens: 20 });

test("what the ledger, the usage and the receipts say beside a busy server is one story", async () => {
  const adjust = ["adjust", "--account", accountId, "--usd", "-0.25", "--reason", "a refund outside"];
  const busy = Promise.all(Array.from({ length: 40 }, () => call(snapshotPath)));
  await Promise.all([json("topup", "--account", accountId, "--usd", "10"), json(...adjust)]);
  const meanwhile = await json("account", "ledger", accountId, "--limit", "1000");
  expect(meanwhile["sum_micros_usd"]).toBe(Number(meanwhile["balance_micros_usd"]));

  expect((await busy).every(({ status }) => status === 200)).toBe(true);
  const last = await post(chatPath, chat);
  const chargedLast = Number(last.headers.get("x-tollgate-cost-micros-usd"));
  const charged = 40 * 48_000 + chargedLast;
  const { balance_micros_usd: balance } = await json("account", "show", accountId);
  expect(balance).toBe(15_000_000 - 250_000 - charged);

  const ledger = await json("account", "ledger", accountId);
  expect(ledger).toMatchObject({ balance_micros_usd: balance, sum_micros_usd: balance, has_more: false });
  const entries = ledger["entries"] as Record<string, unknown>[];
  expect(entries).toHaveLength(44);
  const requestId = last.headers.get("x-request-id") ?? "";
  expect(entries[0]).toMatchObject({ id: requestId, kind: "charge", model: "gpt-4o-mini", key_id: keyId });
  expect(entries.map(({ reason }) => reason)).toContain("a refund outside");

  const totals = { requests: 41, failed_requests: 0, charged_micros_usd: charged };
  for (const by of ["day", "key", "model", "operation"])
    expect(await json("account", "usage", accountId, "--by", by)).toMatchObject({ by, totals });

  const receipt = await json("receipt", requestId);
  expect(receipt).toMatchObject({
    account_id: accountId,
    account_name: "Ada",
    key_id: keyId,
    key_name: "ci",
    charged_micros_usd: chargedLast,
  });
  const shown = await (await call(`/v1/requests/${requestId}`)).json();
  const { account_id: _, account_name: __, key_name: ___, ...told } = receipt;
  expect(told).toEqual(shown as typeof told);
});

test("the receipt of a video that is being made names who makes it, to the operator as to the caller", async () => {
  const created = await post(createPath, video(stuck), asynchronous);
  const requestId = created.headers.get("x-request-id") ?? "";
  const shown = (await (await call(`/v1/requests/${requestId}`)).json()) as Record<string, unknown>;
  expect(shown).toMatchObject({ settled_at: null, attempts: [{ outcome: "answered" }] });
  expect((await json("receipt", requestId))["attempts"]).toEqual(shown["attempts"]);
});

test("whose receipt it is stays the account's with a key, and the operator's without", async () => {
  const id = (await call(snapshotPath)).headers.get("x-request-id") ?? "";
  const stranger = await json("account", "create", "--name", "Bob");
  const issued = await json("key", "issue", "--account", String(stranger["account_id"]));
  const environment = { TOLLGATE_DATA: folder, TOLLGATE_BASE_URL: gateway.url };
  const asked = (apiKey: string) =>
    runTollgate(["receipt", id], { folder, environment: { ...environment, TOLLGATE_KEY: apiKey } });
  expect(await asked(String(issued["key"]))).toMatchObject({ code: 1, out: "" });
  const own = await asked(key);
  expect(own.code).toBe(0);
  expect(own.out).not.toContain(accountId);
  expect((await asked("")).out).toContain(`${accountId} (Ada)`);
});
