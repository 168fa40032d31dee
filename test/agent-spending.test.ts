// What agents spend: caps, receipts, retries, batches, and leaving in the middle. Every test compares what the agent was
// told with what the account paid.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Store } from "../gateway/src/books/store.ts";
import { InDoubt, StoreBusy } from "../gateway/src/ledger/store-errors.ts";
import { askModern, openOldClient, useTool, type ToolResult } from "./agent-client.ts";
import { withFailpoint } from "./failpoints.ts";
import { expectNothingHappened } from "./bad-inputs/nothing-happened.ts";
import {
  openGatewayProcess,
  openSandbox,
  openTestGateway,
  until,
  type TestAccount,
  type TestGateway,
} from "./harness.ts";

const snapshotMicros = 48_000;
const tagMicros = 1_450;
const snapshot = (max: number, more: object = {}) => ({
  operation_id: "financial.metrics.snapshot",
  arguments: { ticker: "AAPL" },
  max_price_usd: max,
  ...more,
});
const tag = (max: number, more: object = {}) => ({
  operation_id: "reseller.social_c.tag_detail",
  arguments: { tag_name: "cats" },
  max_price_usd: max,
  ...more,
});

let gateway: TestGateway;
let account: TestAccount;
let mcp: string;

beforeAll(async () => {
  gateway = await openTestGateway();
  mcp = `${gateway.url}/mcp`;
});
beforeEach(async () => {
  account = await gateway.openAccount({ creditUsd: "5" });
});
afterAll(async () => {
  expect(await gateway.audit()).toEqual([]);
  await gateway.close();
});

const use = (given: unknown): Promise<ToolResult> => useTool(mcp, account.key, "use", given);
const spent = async (): Promise<number> => 5_000_000 - (await gateway.balance(account)).balance;
const errorOf = ({ structuredContent }: ToolResult): Record<string, unknown> =>
  structuredContent["error"] as Record<string, unknown>;

test("headers by which calls are capped, quoted or made once elsewhere are refused, not overheard", async () => {
  const paying: Readonly<Record<string, string>> = {
    "X-Tollgate-Cost-Mode": "quote",
    "X-Tollgate-Max-Price-USD": "0.01",
    "Idempotency-Key": "once",
  };
  for (const [name, value] of Object.entries(paying)) {
    const params = { name: "use", arguments: snapshot(0.1) };
    const headers = { [name]: value };
    const { status, message } = await askModern(mcp, account.key, "tools/call", params, { headers });
    expect([status, message.error?.message]).toEqual([
      400,
      `${name.toLowerCase()} means nothing here, so nothing was run: tools take max_price_usd and idempotency_key.`,
    ]);
  }
  expect(await spent()).toBe(0);
});

describe("one call", () => {
  test("is a call like any other: charged once, with a receipt of its own", async () => {
    const { isError, structuredContent, content } = await use(snapshot(0.1));
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
    expect((await use(snapshot(0.048))).structuredContent["status"]).toBe("completed");
    await expectNothingHappened(gateway, async () => {
      for (const cap of [0.047999, 0.0479999999, 0.01, 1e-7, 0]) {
        const refused = await use(snapshot(cap));
        expect([cap, refused.structuredContent["status"]]).toEqual([cap, "refused"]);
        expect(errorOf(refused)).toMatchObject({
          code: "price_cap_exceeded",
          charged: "no",
          retryable: false,
        });
      }
    });
  });

  test("the most that search and details tell is what the call may cost under the account's plan", async () => {
    account = await gateway.openAccount({ creditUsd: "5", planMultiplierPpm: 1_250_000n });
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
    expect((await use(snapshot(pricing.max_usd))).structuredContent).toMatchObject({ settled_usd: 0.06 });
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
    const bought = await use(snapshot(0.1));
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
        [snapshot(1, { arguments: {} }), "invalid_arguments"],
        [snapshot(1, { arguments: { ticker: { a: 1 } } }), "invalid_arguments"],
        [snapshot(1, { arguments: { ticker: "A", cik: "1" } }), "invalid_arguments"],
        [snapshot(1, { arguments: [] }), "invalid_arguments"],
        [snapshot(1, { surprise: true }), "invalid_arguments"],
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
    const failed = await use(snapshot(0.1));
    expect(failed.structuredContent).toMatchObject({
      status: "failed",
      http_status: 404,
      settled_micros_usd: 0,
      result: { error: "no such company" },
      error: { code: "upstream_error", charged: "no" },
    });
    await gateway.sandbox.fault({ vendor: "financialdatasets", mode: "close" });
    const lost = await use(snapshot(0.1));
    expect(lost.structuredContent).toMatchObject({
      status: "failed",
      error: { code: "upstream_error", charged: "no", retryable: false },
    });
    expect(await spent()).toBe(0);
  });

  test("a balance that does not cover the call is said, with nothing spent", async () => {
    account = await gateway.openAccount({ creditUsd: "0.01" });
    expect(errorOf(await use(snapshot(0.1)))).toMatchObject({ code: "insufficient_balance", charged: "no" });
  });

  test("a long result is shortened to 64 KiB, says where, and keeps its shape", async () => {
    const long = {
      snapshot: { ticker: "AAPL", note: "é".repeat(100_000), emoji: `a${"😀".repeat(50_000)}` },
      rows: Array.from({ length: 5_000 }, (_, n) => ({ n, id: `row ${n}`, worth: n / 7 })),
      last: true,
    };
    await gateway.sandbox.fault({
      vendor: "financialdatasets",
      status: 200,
      body: JSON.stringify(long),
    });
    const { structuredContent, content } = await use(snapshot(0.1));
    expect(structuredContent["truncated"]).toBe(true);
    const result = structuredContent["result"] as typeof long;
    const bytes = Buffer.byteLength(JSON.stringify(result));
    expect(bytes).toBeLessThanOrEqual(64 * 1024);
    expect(bytes).toBeGreaterThan(60 * 1024);
    expect(result).toMatchObject({ snapshot: { ticker: "AAPL" }, last: true });
    const { note, emoji } = result.snapshot;
    expect(note).toMatch(/^é{7000,}… \(shortened\)$/);
    expect(emoji).toMatch(/^a(?:😀){2500,}… \(shortened\)$/u);
    expect(result.rows.slice(0, 400)).toEqual(long.rows.slice(0, 400));
    expect<unknown>(result.rows.at(-1)).toBe(`… and ${5_001 - result.rows.length} more`);
    expect(JSON.parse(content[0]?.text ?? "")).toEqual(structuredContent);
  });

  test("an object of very many members keeps the first of them, and a list in a list a part", async () => {
    const members = Object.fromEntries(
      Array.from({ length: 10_000 }, (_, n) => [`member_${n}`, "x".repeat(n)]),
    );
    for (const body of [{ members }, { a: [[Array.from({ length: 50_000 }, () => 0.1)]] }]) {
      await gateway.sandbox.fault({ vendor: "financialdatasets", status: 200, body: JSON.stringify(body) });
      const { structuredContent } = await use(snapshot(0.1));
      const written = JSON.stringify(structuredContent["result"]);
      expect(Buffer.byteLength(written)).toBeLessThanOrEqual(64 * 1024);
      expect(written.length).toBeGreaterThan(30 * 1024);
      expect(written).toContain("more");
    }
  });

  test("generated images come as images, and a note stands in their place", async () => {
    const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk";
    const large = png + "A".repeat(400_000);
    const answer = {
      created: 1,
      data: [{ b64_json: large, revised_prompt: "a boat" }, { b64_json: "no image" }, { b64_json: large }],
      usage: { input_tokens: 5, output_tokens: 100, total_tokens: 105 },
    };
    await gateway.sandbox.fault({ vendor: "openai", status: 200, body: JSON.stringify(answer) });
    const { structuredContent, content } = await use({
      operation_id: "images.generate",
      arguments: { prompt: "a boat", n: 3 },
      max_price_usd: 3,
    });
    expect(structuredContent).toMatchObject({
      status: "completed",
      result: {
        created: 1,
        data: [
          { b64_json: "(image 1 of this answer's content)", revised_prompt: "a boat" },
          { b64_json: "no image" },
          { b64_json: "(image 2 of this answer's content)" },
        ],
      },
    });
    expect(structuredContent["truncated"]).toBeUndefined();
    expect(JSON.parse(content[0]?.text ?? "")).toEqual(structuredContent);
    const image = { type: "image", data: large, mimeType: "image/png" };
    expect(content.slice(1) as unknown[]).toEqual([image, image]);
  });

  test("how long a result may be is told before anything is spent", async () => {
    const details = await useTool(mcp, account.key, "get_details", { operation_id: "embeddings.create" });
    expect(details.structuredContent["limits"]).toMatchObject({ result_bytes_max: 65_536 });
  });

  test("what is not JSON is text", async () => {
    await gateway.sandbox.fault({
      vendor: "financialdatasets",
      status: 502,
      body: "<h1>Bad gateway</h1>",
      content_type: "text/html",
    });
    expect((await use(snapshot(0.1))).structuredContent).toMatchObject({
      status: "failed",
      content_type: "text/html",
      result: { text: "<h1>Bad gateway</h1>" },
    });
  });

  test("a result nested deeper than 500 is text, so that nobody waits while it is written again", async () => {
    const nested = (depth: number): string => `{"snapshot":${"[".repeat(depth)}"]"${"]".repeat(depth)}}`;
    for (const depth of [100, 499, 500, 30_000]) {
      const body = nested(depth);
      await gateway.sandbox.fault({ vendor: "financialdatasets", status: 200, body });
      const { structuredContent } = await use(snapshot(0.1));
      expect(structuredContent["status"]).toBe("completed");
      const { text } = structuredContent["result"] as { text?: string };
      expect([depth, text]).toEqual([depth, depth < 500 ? undefined : body]);
    }
  });

  test("an id too long for a number is refused before anything is held, and passes as a string", async () => {
    const id = "1801000000000000102";
    const quotes = (args: object) => ({
      operation_id: "social_a.tweet.quotes",
      arguments: args,
      max_price_usd: 0.1,
    });
    await expectNothingHappened(gateway, async () => {
      for (const [args, field] of [
        [{ tweetId: Number(id) }, "tweetId"],
        [{ tweetId: "1", more: { ids: [1, -Number(id)] } }, "more.ids.1"],
        [{ tweetId: 2 ** 53 }, "tweetId"],
      ] as const) {
        const { structuredContent } = await use(quotes(args));
        expect(structuredContent).toMatchObject({
          status: "refused",
          error: {
            code: "invalid_arguments",
            message: `${field}: too large to stay exact as a number; send it as a string. Nothing was charged.`,
          },
        });
      }
    });
    for (const tweetId of [id, 2 ** 53 - 1]) {
      expect((await use(quotes({ tweetId }))).structuredContent["status"]).toBe("completed");
      expect((await gateway.sandbox.book()).at(-1)?.query).toContain(`tweetId=${tweetId}`);
    }
  });

  test("whole numbers that a program could not hold come as strings, exactly as the vendor wrote them", async () => {
    const body = `{"snapshot":{"uid":7123456789012345678,"ids":[-9007199254740993,9007199254740991],"price":1.5,"supply":1e18}}`;
    await gateway.sandbox.fault({ vendor: "financialdatasets", status: 200, body });
    const { structuredContent, content } = await use(snapshot(0.1));
    expect(structuredContent["result"]).toEqual({
      snapshot: {
        uid: "7123456789012345678",
        ids: ["-9007199254740993", 9_007_199_254_740_991],
        price: 1.5,
        supply: 1e18,
      },
    });
    expect(JSON.parse(content[0]?.text ?? "")).toEqual(structuredContent);
  });

  test("a streamed answer is collected, and its price is known", async () => {
    const { structuredContent } = await use({
      operation_id: "chat.completions.create",
      arguments: {
        model: "gpt-4o",
        stream: true,
        max_tokens: 50,
        messages: [{ role: "user", content: "hi" }],
      },
      max_price_usd: 0.1,
    });
    expect(structuredContent["status"]).toBe("completed");
    expect(structuredContent["content_type"]).toStartWith("text/event-stream");
    expect(JSON.stringify(structuredContent["result"])).toContain("[DONE]");
    expect(structuredContent["settled_micros_usd"]).toBe(await spent());
    expect(await spent()).toBeGreaterThan(0);
  });

  test("one that takes long reports progress to whoever asked for it, in growing figures", async () => {
    await gateway.sandbox.fault({ vendor: "financialdatasets", latency_ms: 7_500 });
    const { before, message } = await askModern(
      mcp,
      account.key,
      "tools/call",
      { name: "use", arguments: snapshot(0.1) },
      { meta: { progressToken: "mine" } },
    );
    expect(message.result?.["structuredContent"]).toMatchObject({ status: "completed" });
    const reported = before.filter(({ method }) => method === "notifications/progress");
    expect(reported.map(({ params }) => [params?.["progressToken"], params?.["progress"]])).toEqual([
      ["mine", 3],
      ["mine", 6],
    ]);
  });
});

describe("repeating", () => {
  test("an idempotency key buys once, for reads and writes alike", async () => {
    for (const given of [
      snapshot(0.1, { idempotency_key: "one" }),
      {
        operation_id: "rerank.create",
        arguments: { query: "a", documents: ["b".repeat(50_000)] },
        max_price_usd: 0.1,
        idempotency_key: "two",
      },
    ]) {
      expect((await use(given)).structuredContent["status"]).toBe("completed");
      const before = await spent();
      const again = await use(given);
      expect(errorOf(again)).toMatchObject({ code: "idempotency_conflict", charged: "no" });
      expect(await spent()).toBe(before);
    }
  });

  test("a repeated idempotency key is told which call has it and what that cost, and led to its receipt", async () => {
    const first = await use(snapshot(0.1, { idempotency_key: "lost" }));
    const { request_id } = first.structuredContent;
    for (const ticker of ["AAPL", "MSFT"]) {
      const again = await use(snapshot(0.1, { idempotency_key: "lost", arguments: { ticker } }));
      expect(again.structuredContent).toMatchObject({ status: "refused", request_id });
      const { message } = errorOf(again);
      expect(message).toContain(`request_id ${String(request_id)}, is settled and was charged 0.048 USD`);
      expect(message).not.toContain("Nothing was charged");
    }
    const receipt = await gateway.call(account, `/v1/requests/${String(request_id)}`);
    expect(await receipt.json()).toMatchObject({ charged_micros_usd: snapshotMicros });
  });

  test("an idempotency key that comes with other arguments is told so, and buys nothing", async () => {
    await use(snapshot(0.1, { idempotency_key: "three" }));
    const other = await use(snapshot(0.1, { idempotency_key: "three", arguments: { ticker: "MSFT" } }));
    expect(errorOf(other)).toMatchObject({
      code: "idempotency_conflict",
      message: expect.stringContaining("used for another request") as string,
      charged: "no",
    });
    expect(await spent()).toBe(snapshotMicros);
  });

  test("the same key at the same time buys once", async () => {
    const all = await Promise.all(
      Array.from({ length: 10 }, () => use(snapshot(0.1, { idempotency_key: "at once" }))),
    );
    const statuses = all.map(({ structuredContent }) => structuredContent["status"]);
    expect(statuses.filter((status) => status === "completed")).toHaveLength(1);
    expect(await spent()).toBe(snapshotMicros);
  });

  test("another account's key is another key", async () => {
    const other = await gateway.openAccount({ creditUsd: "5" });
    const given = snapshot(0.1, { idempotency_key: "shared" });
    await use(given);
    const theirs = await useTool(mcp, other.key, "use", given);
    expect(theirs.structuredContent["status"]).toBe("completed");
  });

  test("a transport that repeats a request of its session gets the first answer and pays once", async () => {
    const old = await openOldClient(mcp, account.key);
    const call = { name: "use", arguments: snapshot(0.1) };
    await gateway.sandbox.fault({ vendor: "financialdatasets", latency_ms: 200 });
    // The connection breaks while the call runs; the library sends the request again, twice.
    const broken = await old.open({ jsonrpc: "2.0", id: 7, method: "tools/call", params: call });
    await broken.body?.cancel();
    const second = await old.ask("tools/call", call, 7);
    const third = await old.ask("tools/call", call, 7);
    expect(second.message.result).toMatchObject({ structuredContent: { status: "completed" } });
    expect(third.message.result).toEqual(second.message.result);
    expect(await spent()).toBe(snapshotMicros);
    await old.ask("tools/call", call, 8);
    expect(await spent()).toBe(2 * snapshotMicros);
  });

  test("without a session every request is its own: equal ones are both bought", async () => {
    await use(snapshot(0.1));
    await use(snapshot(0.1));
    expect(await spent()).toBe(2 * snapshotMicros);
  });
});

describe("leaving", () => {
  test("after dispatch changes nothing: one settled charge", async () => {
    const asked = (await gateway.sandbox.book()).length;
    await gateway.sandbox.fault({ vendor: "financialdatasets", latency_ms: 400 });
    const leaving = new AbortController();
    const call = askModern(
      mcp,
      account.key,
      "tools/call",
      { name: "use", arguments: snapshot(0.1) },
      { signal: leaving.signal },
    ).catch(() => {});
    await until(async () => (await gateway.sandbox.book()).length > asked);
    leaving.abort();
    await call;
    await until(async () => (await spent()) === snapshotMicros);
    await until(async () => (await gateway.balance(account)).held === 0);
    expect(await spent()).toBe(snapshotMicros);
  });

  test("in the middle of a batch starts nothing more", async () => {
    const asked = (await gateway.sandbox.book()).length;
    await gateway.sandbox.fault({ vendor: "financialdatasets", latency_ms: 400 });
    const leaving = new AbortController();
    const calls = Array.from({ length: 5 }, () => snapshot(0.1));
    const batch = askModern(
      mcp,
      account.key,
      "tools/call",
      { name: "batch_use", arguments: { calls } },
      { signal: leaving.signal },
    ).catch(() => {});
    await until(async () => (await gateway.sandbox.book()).length > asked);
    leaving.abort();
    await batch;
    await until(async () => (await spent()) === snapshotMicros);
    await Bun.sleep(300);
    expect(await spent()).toBe(snapshotMicros);
    expect((await gateway.sandbox.book()).length).toBe(asked + 1);
  });
});

test("a stop waits for what agents are running, and tells them how it ended", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-test-"));
  const sandbox = await openSandbox();
  const program = await openGatewayProcess({ dataFolder: folder, config: `sandbox: "${sandbox.url}"` });
  const key = /tgk_[0-9A-Za-z]+/.exec(program.greeting)?.[0] ?? "";
  const old = await openOldClient(`${program.url}/mcp`, key);
  await sandbox.fault({ vendor: "financialdatasets", latency_ms: 700 });
  const call = old.ask("tools/call", { name: "use", arguments: snapshot(0.1) });
  await until(async () => (await sandbox.book()).length > 0);
  program.signal("SIGTERM");
  expect((await call).message.result).toMatchObject({ structuredContent: { status: "completed" } });
  expect(await program.exited).toBe(0);
  sandbox.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe("a batch", () => {
  const batch = (given: object): Promise<ToolResult> => useTool(mcp, account.key, "batch_use", given);
  const statuses = ({ structuredContent }: ToolResult): string[] =>
    (structuredContent["results"] as { status: string }[]).map(({ status }) => status);

  test("runs its calls in order, each with its own receipt", async () => {
    const done = await batch({ calls: [snapshot(0.1), tag(0.01), snapshot(0.1)] });
    expect(statuses(done)).toEqual(["completed", "completed", "completed"]);
    const results = done.structuredContent["results"] as { index: number; request_id: string }[];
    expect(results.map(({ index }) => index)).toEqual([0, 1, 2]);
    const charged = [];
    for (const { request_id } of results) {
      const receipt = await gateway.call(account, `/v1/requests/${request_id}`);
      charged.push(((await receipt.json()) as { charged_micros_usd: number }).charged_micros_usd);
    }
    expect(charged).toEqual([snapshotMicros, tagMicros, snapshotMicros]);
    expect(done.structuredContent["totals"]).toEqual({
      completed: 3,
      accepted: 0,
      refused: 0,
      failed: 0,
      not_started: 0,
      estimate_usd: 0.09745,
      settled_usd: 0.09745,
    });
    expect(await spent()).toBe(2 * snapshotMicros + tagMicros);
  });

  test("runs none of its calls when together they may cost more than its total, and says how much", async () => {
    await expectNothingHappened(gateway, async () => {
      for (const [calls, total, together] of [
        [[snapshot(0.1), snapshot(0.1), tag(0.01)], 0.05, "0.09745"],
        [[snapshot(0.048), snapshot(0.048)], 0.095999, "0.096"],
        [[tag(0.01)], 0, "0.00145"],
        [Array.from({ length: 20 }, () => snapshot(0.9)), 0.2, "0.96"],
      ] as const) {
        const refused = await batch({ calls, max_total_price_usd: total });
        expect(refused.isError).toBe(true);
        const results = refused.structuredContent["results"] as { status: string; error: object }[];
        expect(results).toHaveLength(calls.length);
        for (const told of [...results.map(({ error }) => error), errorOf(refused)]) {
          expect(told).toMatchObject({ code: "price_cap_exceeded", retryable: false, charged: "no" });
          expect(told).toHaveProperty("message", expect.stringContaining(`may cost ${together} USD`));
        }
        expect(statuses(refused)).toEqual(calls.map(() => "refused"));
        expect(refused.structuredContent["totals"]).toEqual({
          completed: 0,
          accepted: 0,
          refused: 0,
          failed: 0,
          not_started: calls.length,
          estimate_usd: Number(together),
          settled_usd: 0,
        });
      }
    });
    expect(await spent()).toBe(0);
  });

  test("runs when its prices are just its total, whatever the caps of its calls say", async () => {
    const done = await batch({
      calls: [snapshot(0.9), tag(0.9), snapshot(0.9)],
      max_total_price_usd: 0.09745,
    });
    expect(statuses(done)).toEqual(["completed", "completed", "completed"]);
    expect(await spent()).toBe(2 * snapshotMicros + tagMicros);
  });

  test("counts nothing for calls that will be refused, or that are free, against its total", async () => {
    const free = { operation_id: "credits.balance", arguments: {}, max_price_usd: 1 };
    const unknown = { operation_id: "no.such", arguments: {}, max_price_usd: 1 };
    const calls = [snapshot(0.01), unknown, snapshot(0.1, { arguments: {} }), free, snapshot(0.1)];
    const done = await batch({ calls, max_total_price_usd: 0.05 });
    expect(statuses(done)).toEqual(["refused", "refused", "refused", "completed", "completed"]);
    expect(await spent()).toBe(snapshotMicros);
  });

  test("never spends more than its total, even when prices rise while it runs", async () => {
    // Longer than a credential is remembered, so that the second call is made under the new plan.
    await gateway.sandbox.fault({ latency_ms: 2_500, times: 1 });
    const running = batch({ calls: [snapshot(0.1), snapshot(0.1)], max_total_price_usd: 0.1 });
    await until(async () => (await gateway.balance(account)).held > 0);
    await gateway.store.accounts.update(account.accountId, { planMultiplierPpm: 1_500_000n });
    const done = await running;
    expect(statuses(done)).toEqual(["completed", "refused"]);
    const [, second] = done.structuredContent["results"] as { error?: { code: string; charged: string } }[];
    expect(second?.error).toMatchObject({ code: "price_cap_exceeded", charged: "no" });
    expect(await spent()).toBe(snapshotMicros);
  });

  test.each([
    ["a task that is still to be paid", "accepted", {}],
    ["a task that may have been created", "failed", { mode: "close" }],
  ])("keeps of its total what %s may cost, even when prices rise while it runs", async (_, status, fault) => {
    const video = {
      operation_id: "video.synthesis.create",
      arguments: {
        model: "wan2.6-t2v",
        input: { prompt: "[stuck] a red fox" },
        parameters: { size: "1280*720", duration: 5 },
      },
      max_price_usd: 0.9,
    };
    await gateway.sandbox.fault({ vendor: "dashscope", latency_ms: 2_500, times: 1, ...fault });
    const running = batch({ calls: [video, snapshot(0.9)], max_total_price_usd: 0.548 });
    await until(async () => (await gateway.balance(account)).held > 0);
    await gateway.store.accounts.update(account.accountId, { planMultiplierPpm: 1_500_000n });
    const done = await running;
    expect(statuses(done)).toEqual([status, "refused"]);
    const [, second] = done.structuredContent["results"] as { error?: { code: string; charged: string } }[];
    expect(second?.error).toMatchObject({ code: "price_cap_exceeded", charged: "no" });
    expect(await spent()).toBe(0);
  });

  test("stops at the first error when asked to, and says what was not started", async () => {
    const calls = [tag(0.01), snapshot(0.001), tag(0.01), tag(0.01)];
    const stopped = await batch({ calls, stop_on_error: true });
    expect(statuses(stopped)).toEqual(["completed", "refused", "refused", "refused"]);
    expect(stopped.structuredContent["totals"]).toMatchObject({ completed: 1, refused: 1, not_started: 2 });
    expect(await spent()).toBe(tagMicros);
    const went = await batch({ calls });
    expect(statuses(went)).toEqual(["completed", "refused", "completed", "completed"]);
  });

  test("has the room of one message: short results stay whole, long ones share what is left", async () => {
    const long = JSON.stringify({ snapshot: { note: "x".repeat(60_000) } });
    await gateway.sandbox.fault({ vendor: "financialdatasets", status: 200, body: long, times: 19 });
    const done = await batch({ calls: [tag(0.01), ...Array.from({ length: 19 }, () => snapshot(0.1))] });
    const results = done.structuredContent["results"] as { result: object; truncated?: boolean }[];
    const bytes = results.map(({ result }) => Buffer.byteLength(JSON.stringify(result)));
    const together = bytes.reduce((sum, one) => sum + one, 0);
    expect(together).toBeLessThanOrEqual(64 * 1024);
    expect(together).toBeGreaterThan(60 * 1024);
    expect(results.map(({ truncated }) => truncated)).toEqual([
      undefined,
      ...Array.from({ length: 19 }, () => true),
    ]);
    expect(results[0]?.result).toMatchObject({
      code: 200,
      data: {},
      time_zone: expect.any(String) as string,
    });
  });

  test("of more than 20 calls, or of none, is refused whole", async () => {
    await expectNothingHappened(gateway, async () => {
      for (const calls of [[], Array.from({ length: 21 }, () => tag(0.01)), "all"]) {
        const refused = await batch({ calls });
        expect([refused.isError, errorOf(refused)["code"]]).toEqual([true, "invalid_arguments"]);
      }
    });
  });

  test("counts each of its calls against the key's limit", async () => {
    const tight = await openTestGateway({ config: "tiers: { free: { rpm: 5, tpm: 1000, concurrency: 1 } }" });
    const { key } = await tight.openAccount({ tier: "free" });
    const calls = Array.from({ length: 7 }, () => tag(0.01));
    const done = await useTool(`${tight.url}/mcp`, key, "batch_use", { calls });
    expect(done.structuredContent["totals"]).toMatchObject({ completed: 5, refused: 2 });
    await tight.close();
  });

  test("counts nothing against limits for the prices it had to know before it ran", async () => {
    const tight = await openTestGateway({ config: "tiers: { free: { rpm: 5, tpm: 1000, concurrency: 1 } }" });
    const { key } = await tight.openAccount({ tier: "free" });
    const calls = [tag(0.01), { operation_id: "no.such", arguments: {}, max_price_usd: 1 }, tag(1), tag(1)];
    const given = { calls, max_total_price_usd: 0.02 };
    const done = await useTool(`${tight.url}/mcp`, key, "batch_use", given);
    expect(done.structuredContent["totals"]).toMatchObject({ completed: 3, refused: 1 });
    const last = await useTool(`${tight.url}/mcp`, key, "use", tag(0.01));
    expect(last.structuredContent["status"]).toBe("completed");
    const over = await useTool(`${tight.url}/mcp`, key, "use", tag(0.01));
    expect(errorOf(over)["code"]).toBe("rate_limit_exceeded");
    await tight.close();
  });
});

describe("an end that the store did not take", () => {
  type Settle = Store["ledger"]["settle"];

  /** A gateway whose settlements come to this, the first time. */
  const withFaulty = async (
    settle: (settle: Settle) => Settle,
    run: (faulty: TestGateway) => Promise<void>,
  ) => {
    let settlements = 0;
    const faulty = await openTestGateway({
      wrap: (parts) => {
        const { ledger } = parts.store;
        const first: Settle = (asked) => (settlements++ === 0 ? settle(ledger.settle) : ledger.settle)(asked);
        return { ...parts, store: { ...parts.store, ledger: { ...ledger, settle: first } } };
      },
    });
    try {
      await run(faulty);
      expect(await faulty.audit()).toEqual([]);
    } finally {
      await faulty.close();
    }
  };

  test("is told to an agent as free, and it is", () =>
    withFaulty(
      () => () => Promise.reject(new StoreBusy()),
      async (faulty) => {
        const owner = await faulty.openAccount({ creditUsd: "5" });
        const told = await useTool(`${faulty.url}/mcp`, owner.key, "use", snapshot(0.1));
        expect(told.structuredContent).toMatchObject({ status: "failed", error: { charged: "no" } });
        await until(async () => (await faulty.balance(owner)).held === 0);
        expect((await faulty.balance(owner)).balance).toBe(5_000_000);
      },
    ));

  test("as far as anybody knows is not told to an agent as free: it was charged", () =>
    withFaulty(
      (settle) => async (settlement) => {
        await settle(settlement);
        throw new InDoubt();
      },
      async (faulty) => {
        const owner = await faulty.openAccount({ creditUsd: "5" });
        const told = await useTool(`${faulty.url}/mcp`, owner.key, "use", snapshot(0.1));
        expect(told.structuredContent["status"]).toBe("failed");
        expect(errorOf(told)).toMatchObject({ charged: "unknown", retryable: false });
        expect(errorOf(told)["message"]).toContain("look at the receipt");
        expect((await faulty.balance(owner)).balance).toBe(5_000_000 - snapshotMicros);
      },
    ));
});

test("an agent whose video was created but could not be written down yet is not told that it costs nothing", async () => {
  let takesNothing = true;
  const faulty = await openTestGateway({
    wrap: (parts) =>
      withFailpoint(parts, "task.created_upstream", () => {
        if (takesNothing) throw new Error("the store takes nothing");
      }),
  });
  try {
    const owner = await faulty.openAccount({ creditUsd: "5" });
    const video = {
      operation_id: "video.synthesis.create",
      arguments: {
        model: "wan2.6-t2v",
        input: { prompt: "a fox" },
        parameters: { size: "1280*720", duration: 5 },
      },
      max_price_usd: 1,
    };
    const { structuredContent } = await useTool(`${faulty.url}/mcp`, owner.key, "use", video);
    expect(structuredContent).toMatchObject({ status: "failed", error: { charged: "unknown" } });
    // A stop waits until it is written, and whoever looks at the log can ask the vendor.
    expect(faulty.gateway.callsInFlight()).toBe(1);
    expect(faulty.logged.join("\n")).toMatch(/"upstream_task_id":"[^"]+"/);
    takesNothing = false;
    await until(() => faulty.gateway.callsInFlight() === 0);
    expect((await faulty.balance(owner)).held).toBeGreaterThan(0);
  } finally {
    await faulty.close();
  }
});
