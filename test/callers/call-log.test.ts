// What the log says about a call at its finest level: enough to find it in the books, and nothing of what was asked.

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { logCall } from "../../gateway/src/call/news/log-call.ts";
import { nothingKnown } from "../../gateway/src/call/call.ts";
import { systemClock } from "../../gateway/src/platform/clock.ts";
import { createLog } from "../../gateway/src/platform/log.ts";
import { useTool } from "../agents/agent-client.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";
import { until } from "../support/until.ts";

let gateway: TestGateway;
let account: TestAccount;

beforeAll(async () => {
  gateway = await openTestGateway();
  account = await gateway.openAccount();
});
afterAll(() => gateway.close());
let loggedBefore = 0;
beforeEach(() => void (loggedBefore = gateway.logged.length));

type Line = Record<string, unknown>;

const linesOf = (event: string): Line[] =>
  gateway.logged
    .slice(loggedBefore)
    .map((line) => JSON.parse(line) as Line)
    .filter((line) => line["event"] === event);

const chat = { model: "gpt-4o-mini", messages: [{ role: "user", content: "a secret" }], max_tokens: 20 };

test("a call's line says whose it was, what it asked for, who served it, how long it took and what it cost", async () => {
  const answer = await gateway.post(account, "/v1/chat/completions", chat);
  await answer.json();
  const [line] = linesOf("call");
  expect(line).toEqual({
    time: line?.["time"],
    level: "debug",
    event: "call",
    request_id: answer.headers.get("x-request-id"),
    operation_id: "chat.completions.create",
    status: 200,
    account_id: account.accountId,
    key_id: account.keyId,
    model: "gpt-4o-mini",
    upstream: "sandbox-openai",
    duration_ms: expect.any(Number) as unknown,
    charged_micros_usd: Number(answer.headers.get("x-tollgate-cost-micros-usd")),
  });
  expect(Number(line?.["duration_ms"])).toBeGreaterThanOrEqual(0);
  expect(Number(line?.["charged_micros_usd"])).toBeGreaterThan(0);
  expect(gateway.logged.join("")).not.toContain("secret");
});

test("a stream has a line when its answer begins, and one with its cost when it has ended", async () => {
  const answer = await gateway.post(account, "/v1/chat/completions", { ...chat, stream: true });
  const text = await answer.text();
  const requestId = answer.headers.get("x-request-id") ?? "";
  await until(() => linesOf("stream ended").length > 0);
  const [begun] = linesOf("call");
  expect(begun).toMatchObject({ request_id: requestId, status: 200, upstream: "sandbox-openai" });
  expect(begun).not.toHaveProperty("charged_micros_usd");
  const [ended] = linesOf("stream ended");
  expect(ended).toMatchObject({
    request_id: requestId,
    account_id: account.accountId,
    key_id: account.keyId,
    model: "gpt-4o-mini",
    upstream: "sandbox-openai",
    duration_ms: expect.any(Number) as unknown,
  });
  expect(text).toContain(`"cost_micros_usd":${Number(ended?.["charged_micros_usd"])}`);
});

test("a refused call's line says why, and has what was known by then", async () => {
  await fetch(`${gateway.url}/v1/rerank`, { method: "POST" });
  await gateway.call(account, "/v1/nothing");
  await gateway.post(
    account,
    "/v1/rerank",
    { query: "q", documents: ["d"] },
    { "x-tollgate-max-price-usd": "0" },
  );
  const [stranger, lost, dear] = linesOf("call");
  expect(stranger).toMatchObject({ operation_id: "none", status: 401, code: "missing_api_key" });
  expect(stranger).not.toHaveProperty("account_id");
  expect(lost).toMatchObject({ operation_id: "none", status: 404, account_id: account.accountId });
  expect(lost).not.toHaveProperty("model");
  expect(dear).toMatchObject({ operation_id: "rerank.create", status: 402, model: "jina-reranker-v3" });
  expect(dear).toMatchObject({ code: "estimated_price_exceeds_max_price" });
  expect(dear).not.toHaveProperty("upstream");
  expect(dear).not.toHaveProperty("charged_micros_usd");
});

test("a free call names its model and who answered", async () => {
  await gateway.post(account, "/v1/messages/count_tokens", { model: "gpt-4o-mini", messages: chat.messages });
  expect(linesOf("call")).toMatchObject([
    { status: 200, account_id: account.accountId, model: "gpt-4o-mini", upstream: "sandbox-openai" },
  ]);
});

test("an agent's calls have their lines, too", async () => {
  const arguments_ = { operation_id: "financial.metrics.snapshot", arguments: { ticker: "AAPL" } };
  await useTool(`${gateway.url}/mcp`, account.key, "use", { ...arguments_, max_price_usd: 0.1 });
  await useTool(`${gateway.url}/mcp`, account.key, "use", { ...arguments_, max_price_usd: 0.01 });
  const whose = { operation_id: "financial.metrics.snapshot", key_id: account.keyId };
  expect(linesOf("call")).toMatchObject([
    { ...whose, status: 200, upstream: "sandbox-financialdatasets", charged_micros_usd: 48_000 },
    { ...whose, status: 402, code: "estimated_price_exceeds_max_price" },
  ]);
});

test("where nothing is written, nothing about the call is even looked at", () => {
  const written: string[] = [];
  const logAt = (level: "debug" | "info") =>
    createLog({ level, nowMs: systemClock.wallMs, write: (line) => void written.push(line) });
  let looks = 0;
  const call = {
    id: "call-1",
    receivedAtMs: 0,
    get known() {
      looks++;
      return nothingKnown();
    },
  };
  logCall("call", call, 200, { log: logAt("info"), clock: systemClock });
  expect({ looks, written }).toEqual({ looks: 0, written: [] });
  logCall("call", call, 200, { log: logAt("debug"), clock: systemClock });
  expect(written).toHaveLength(1);
});
