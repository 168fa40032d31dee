// What agents spend: caps, receipts, retries, batches, and leaving in the middle. Every test compares what the agent was
// told with what the account paid.

import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Store } from "../gateway/src/books/store.ts";
import { InDoubt, StoreBusy } from "../gateway/src/ledger/store-errors.ts";
import { askModern, openOldClient, useTool } from "./agent-client.ts";
import { errorOf, snapshot, snapshotMicros, usePurchases } from "./agent-purchases.ts";
import { expectNothingHappened } from "./bad-inputs/nothing-happened.ts";
import { withFailpoint } from "./failpoints.ts";
import { openGatewayProcess, openSandbox, openTestGateway, until, type TestGateway } from "./harness.ts";

const { gateway, account, mcp, use, spent } = await usePurchases();

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
    await account.reopen({ creditUsd: "0.01" });
    expect(errorOf(await use(snapshot(0.1)))).toMatchObject({ code: "insufficient_balance", charged: "no" });
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

  test("a free read is answered anew, also under an id that its session had: a client that resumes counts from the start", async () => {
    const old = await openOldClient(mcp, account.key);
    const balance = { operation_id: "credits.balance", arguments: {}, max_price_usd: 0 };
    const read = async () => {
      const alone = await old.ask("tools/call", { name: "use", arguments: balance }, 7);
      const together = await old.ask("tools/call", { name: "batch_use", arguments: { calls: [balance] } }, 7);
      return [alone, together].map(({ message }) => message.result?.["structuredContent"]);
    };
    const told = (micros: number) => {
      const result = { balance_micros_usd: micros };
      return [{ result }, { results: [{ result }] }];
    };
    expect(await read()).toMatchObject(told(5_000_000));
    await old.ask("tools/call", { name: "use", arguments: snapshot(0.1) }, 8);
    expect(await read()).toMatchObject(told(5_000_000 - snapshotMicros));
  });

  test("what is free and changes something happens once, however often a transport repeats it", async () => {
    const old = await openOldClient(mcp, account.key);
    const wish = { expected_rpm: 600, expected_tpm: 1_000, models: ["gpt-4o"], use_case: "Tickers." };
    const apply = { operation_id: "limits.requests.create", arguments: wish, max_price_usd: 0 };
    const first = await old.ask("tools/call", { name: "use", arguments: apply }, 7);
    const second = await old.ask("tools/call", { name: "use", arguments: apply }, 7);
    expect(first.message.result).toMatchObject({ structuredContent: { status: "completed" } });
    expect(second.message.result).toEqual(first.message.result);
  });

  test("a batch with anything paid in it is bought once, whatever else it reads", async () => {
    const old = await openOldClient(mcp, account.key);
    const balance = { operation_id: "credits.balance", arguments: {}, max_price_usd: 0 };
    const batch = { name: "batch_use", arguments: { calls: [balance, snapshot(0.1)] } };
    const first = await old.ask("tools/call", batch, 7);
    expect((await old.ask("tools/call", batch, 7)).message.result).toEqual(first.message.result);
    expect(await spent()).toBe(snapshotMicros);
  });

  test("a request of a session that is repeated while it runs is answered as often as it came, and bought once", async () => {
    const old = await openOldClient(mcp, account.key);
    const call = { name: "use", arguments: snapshot(0.1) };
    await gateway.sandbox.fault({ vendor: "financialdatasets", latency_ms: 600 });
    const first = old.ask("tools/call", call, 7);
    await gateway.sandbox.busyWith(1);
    const [other, ...same] = await Promise.all([
      old.ask("tools/call", { name: "use", arguments: snapshot(0.2) }, 7),
      old.ask("tools/call", call, 7),
      old.ask("tools/call", call, 7),
    ]);
    expect([other.status, other.message.error?.code]).toEqual([400, -32600]);
    const { message } = await first;
    expect(message.result).toMatchObject({ structuredContent: { status: "completed" } });
    for (const repeated of same) expect(repeated.message).toEqual(message);
    expect(await spent()).toBe(snapshotMicros);
  }, 10_000);

  test("a request of a session whose connection broke while it ran is answered when it is repeated", async () => {
    const old = await openOldClient(mcp, account.key);
    const params = { name: "use", arguments: snapshot(0.1) };
    await gateway.sandbox.fault({ vendor: "financialdatasets", latency_ms: 600 });
    const leaving = new AbortController();
    const broken = old.open({ jsonrpc: "2.0", id: 7, method: "tools/call", params }, {}, leaving.signal);
    await gateway.sandbox.busyWith(1);
    leaving.abort();
    expect(await broken.then((response) => response.text()).catch(() => "left")).toBe("left");
    const { message } = await old.ask("tools/call", params, 7);
    expect(message.result).toMatchObject({ structuredContent: { status: "completed" } });
    expect(await spent()).toBe(snapshotMicros);
  }, 10_000);

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
