// What agents spend: caps, receipts and refusals. Every test compares what the agent was told with what the account paid.

import { describe, expect, test } from "bun:test";
import { askModern, errorOf, useTool } from "./agent-client.ts";
import { snapshotOrder, usePurchases } from "./agent-purchases.ts";
import { snapshotMicros } from "../support/purchases.ts";
import { expectNothingHappened } from "../bad-inputs/nothing-happened.ts";

const { gateway, account, mcp, use, spent } = await usePurchases();

test("headers by which calls are capped, quoted or made once elsewhere are refused, not overheard", async () => {
  const paying: Readonly<Record<string, string>> = {
    "X-Tollgate-Cost-Mode": "quote",
    "X-Tollgate-Max-Price-USD": "0.01",
    "Idempotency-Key": "once",
  };
  for (const [name, value] of Object.entries(paying)) {
    const params = { name: "use", arguments: snapshotOrder(0.1) };
    const headers = { [name]: value };
    const { status, message } = await askModern(mcp, account.key, "tools/call", params, { headers });
    expect([status, message.error?.message]).toEqual([
      400,
      `${name.toLowerCase()} means nothing here, so nothing was run: tools take max_price_usd and idempotency_key.`,
    ]);
  }
  expect(await spent()).toBe(0);
});

test("such a header is looked at after the credential and the limit on requests, and counts as a request", async () => {
  const headers = { "Idempotency-Key": "once" };
  expect((await askModern(mcp, undefined, "tools/list", {}, { headers })).status).toBe(401);
  const { key } = await gateway.openAccount({ tier: "free" });
  for (let left = 59; left >= 0; left--) {
    const answered = await askModern(mcp, key, "tools/list", {}, { headers });
    expect([answered.status, answered.headers.get("x-ratelimit-remaining-requests")]).toEqual([
      400,
      String(left),
    ]);
  }
  expect((await askModern(mcp, key, "tools/list", {}, { headers })).status).toBe(429);
});

describe("one call", () => {
  test("is a call like any other: charged once, with a receipt of its own", async () => {
    const { isError, structuredContent, content } = await use(snapshotOrder(0.1));
    expect(isError).toBeUndefined();
    expect(structuredContent).toMatchObject({
      status: "completed",
      operation_id: "financial.metrics.snapshot",
      max_price_usd: 0.1,
      estimate_usd: 0.048,
      settled_usd: 0.048,
      settled_micros_usd: snapshotMicros,
      http_status: 200,
      result: { snapshot: { ticker: "AAPL" } },
    });
    expect(JSON.parse(content[0]?.text ?? "")).toEqual(structuredContent);
    const receipt = await gateway.call(account, `/v1/requests/${String(structuredContent["request_id"])}`);
    expect(await receipt.json()).toMatchObject({
      operation_id: "financial.metrics.snapshot",
      charged_micros_usd: snapshotMicros,
    });
    expect(await spent()).toBe(snapshotMicros);
  });

  test("a cap that equals the price is enough, a micro-USD less is not, and nothing is spent", async () => {
    expect((await use(snapshotOrder(0.048))).structuredContent["status"]).toBe("completed");
    await expectNothingHappened(gateway, async () => {
      for (const cap of [0.047999, 0.0479999999, 0.01, 1e-7, 0]) {
        const refused = await use(snapshotOrder(cap));
        expect([cap, refused.structuredContent["status"]]).toEqual([cap, "refused"]);
        expect(errorOf(refused)).toMatchObject({
          code: "price_cap_exceeded",
          charged: "no",
          retryable: false,
        });
        // In the unit of the cap: whoever copied a figure in micro-USD into the next one would have no cap any more.
        expect(errorOf(refused)["message"]).toMatch(
          /^The call may cost 0\.048 USD; the cap is 0(\.\d+)? USD\. /,
        );
      }
    });
  });

  test("the most that search and details tell is what the call may cost under the account's plan", async () => {
    await account.reopen({ creditUsd: "5", planMultiplierPpm: 1_250_000n });
    const found = await useTool(mcp, account.key, "search", { query: "financial.metrics.snapshot" });
    const [card] = found.structuredContent["results"] as { pricing: object }[];
    const details = await useTool(mcp, account.key, "get_details", {
      operation_id: "financial.metrics.snapshot",
    });
    const pricing = details.structuredContent["pricing"] as { max_usd: number };
    expect(card?.pricing).toEqual(pricing);
    expect(pricing).toMatchObject({ estimate_usd: 0.06, max_usd: 0.06 });
    const within = await useTool(mcp, account.key, "search", {
      query: "financial.metrics.snapshot",
      max_price_usd: 0.05,
    });
    expect(JSON.stringify(within.structuredContent)).not.toContain("financial.metrics.snapshot");
    expect((await use(snapshotOrder(pricing.max_usd))).structuredContent).toMatchObject({
      settled_usd: 0.06,
    });
  });

  test("free operations cost nothing under a cap of nothing", async () => {
    const { structuredContent } = await use({
      operation_id: "credits.balance",
      arguments: {},
      max_price_usd: 0,
    });
    expect(structuredContent).toMatchObject({
      status: "completed",
      result: { balance_micros_usd: 5_000_000 },
    });
  });

  test("path, query and body are filled from one object of arguments", async () => {
    const bought = await use(snapshotOrder(0.1));
    const requestId = String(bought.structuredContent["request_id"]);
    const receipt = await use({
      operation_id: "requests.get",
      arguments: { request_id: requestId },
      max_price_usd: 0,
    });
    expect(receipt.structuredContent).toMatchObject({ result: { request_id: requestId } });
    const used = await use({
      operation_id: "usage.get",
      arguments: { start_time: 1_700_000_000 },
      max_price_usd: 0,
    });
    expect(errorOf(used)).toMatchObject({ code: "invalid_arguments" });
    const recent = Math.floor(Date.now() / 1000) - 3_600;
    const report = await use({
      operation_id: "usage.get",
      arguments: { start_time: recent },
      max_price_usd: 0,
    });
    expect(report.structuredContent).toMatchObject({ result: { totals: { requests: 1 } } });
    const gemini = await use({
      operation_id: "models.generate_content",
      arguments: { model: "gemini-2.5-flash", contents: [{ parts: [{ text: "hi" }] }] },
      max_price_usd: 0.5,
    });
    expect(gemini.structuredContent).toMatchObject({ status: "completed" });
  });

  test("what is wrong with the arguments is said, and nothing happens", async () => {
    await expectNothingHappened(gateway, async () => {
      for (const [given, code] of [
        [{ operation_id: "no.such", arguments: {}, max_price_usd: 1 }, "unknown_operation"],
        [snapshotOrder(1, { arguments: {} }), "invalid_arguments"],
        [snapshotOrder(1, { arguments: { ticker: { a: 1 } } }), "invalid_arguments"],
        [snapshotOrder(1, { arguments: { ticker: "A", cik: "1" } }), "invalid_arguments"],
        [snapshotOrder(1, { arguments: { ticker: "\ud800" } }), "invalid_arguments"],
        [snapshotOrder(1, { arguments: [] }), "invalid_arguments"],
        [snapshotOrder(1, { surprise: true }), "invalid_arguments"],
        [
          { operation_id: "requests.get", arguments: { request_id: ".." }, max_price_usd: 0 },
          "invalid_arguments",
        ],
        [
          { operation_id: "reseller.social_b.user_stories", arguments: {}, max_price_usd: 1 },
          "definition_pending",
        ],
      ] as const) {
        const refused = await use(given);
        expect([given, refused.isError, errorOf(refused)["code"]]).toEqual([given, true, code]);
        expect(errorOf(refused)["charged"]).toBe("no");
      }
    });
  });

  test("an upstream's error is told with its answer, and that nothing was charged", async () => {
    await gateway.sandbox.fault({
      vendor: "financialdatasets",
      status: 404,
      body: '{"error":"no such company"}',
    });
    const failed = await use(snapshotOrder(0.1));
    expect(failed.structuredContent).toMatchObject({
      status: "failed",
      http_status: 404,
      settled_micros_usd: 0,
      result: { error: "no such company" },
      error: { code: "upstream_error", charged: "no" },
    });
    await gateway.sandbox.fault({ vendor: "financialdatasets", mode: "close" });
    const lost = await use(snapshotOrder(0.1));
    expect(lost.structuredContent).toMatchObject({
      status: "failed",
      error: { code: "upstream_error", charged: "no", retryable: false },
    });
    expect(await spent()).toBe(0);
  });

  test("that nothing was charged is told once, also where the refusal says so itself", async () => {
    await gateway.sandbox.fault({ vendor: "financialdatasets", status: 429 });
    expect(errorOf(await use(snapshotOrder(0.1)))).toMatchObject({
      code: "upstream_rate_limit",
      message: "The upstream is busy; nothing was charged.",
    });
    await gateway.sandbox.fault({ vendor: "financialdatasets", status: 401 });
    expect(errorOf(await use(snapshotOrder(0.1)))).toMatchObject({
      code: "upstream_error",
      message: "The provider cannot serve this call now; nothing was charged.",
    });
  });

  test("a balance that does not cover the call is said, with nothing spent", async () => {
    await account.reopen({ creditUsd: "0.01" });
    const before = await spent();
    expect(errorOf(await use(snapshotOrder(0.1)))).toMatchObject({
      code: "insufficient_balance",
      charged: "no",
    });
    expect(await spent()).toBe(before);
  });
});

test("what is free and was answered says that it cost nothing; a look at a task says nothing of its price", async () => {
  const free = await use({ operation_id: "credits.balance", arguments: {}, max_price_usd: 0 });
  expect(free.structuredContent).toMatchObject({
    status: "completed",
    settled_usd: 0,
    settled_micros_usd: 0,
  });
  const about = { operation_id: "tasks.get", arguments: { task_id: "none" }, max_price_usd: 0 };
  const { status, ...looked } = (await use(about)).structuredContent;
  expect(status).toBe("completed");
  expect(looked).not.toContainAnyKeys(["settled_usd", "settled_micros_usd"]);
});
