// What the door for agents takes at once, and how often: sizes and rates, and what agents are told of them.

import { describe, expect, test } from "bun:test";
import { useAgentAccount } from "./agent-account.ts";
import { askModern, modernHeaders, useTool } from "./agent-client.ts";
import { snapshotOrder } from "./agent-purchases.ts";
import { openTestGateway } from "../support/test-gateway.ts";

const { gateway, account, mcp } = await useAgentAccount();

describe("limits", () => {
  test("a body above 4 MiB is 413, deep or broken JSON and batches are 400", async () => {
    const post = (body: string): Promise<Response> =>
      fetch(mcp, { method: "POST", headers: modernHeaders(account.key, "tools/call", "use"), body });
    const padded = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "ping",
      params: { x: "x".repeat(4 * 1024 * 1024) },
    });
    const batch = JSON.stringify(
      Array.from({ length: 10_000 }, (_, id) => ({ jsonrpc: "2.0", id, method: "ping" })),
    );
    const statuses = [];
    for (const body of [padded, "[".repeat(100_000), "{", "", batch, '"text"', '{"__proto__":{}}']) {
      statuses.push((await post(body)).status);
    }
    expect(statuses).toEqual([413, 400, 400, 400, 400, 400, 400]);
    for (const type of ["text/html", "text/plain", "application/x-www-form-urlencoded"]) {
      const form = await fetch(mcp, {
        method: "POST",
        headers: { ...modernHeaders(account.key, "ping"), "content-type": type },
        body: "{}",
      });
      expect([type, form.status]).toEqual([type, 415]);
    }
  });

  test("every request counts against the key's limit, also what is free and what is refused", async () => {
    const { key } = await gateway.openAccount({ tier: "free" });
    const left = async (): Promise<number> => {
      const { structuredContent } = await useTool(mcp, key, "use", {
        operation_id: "limits.get",
        arguments: {},
        max_price_usd: 0,
      });
      const { limits } = structuredContent["result"] as { limits: { name: string; remaining: number }[] };
      return limits.find(({ name }) => name === "requests_per_minute")?.remaining ?? NaN;
    };
    const before = await left();
    await askModern(mcp, key, "tools/list");
    await useTool(mcp, key, "search", { query: "x" });
    await useTool(mcp, key, "use", { operation_id: "no.such", arguments: {}, max_price_usd: 0 });
    await useTool(mcp, key, "use", snapshotOrder(0));
    expect(before - (await left())).toBe(5);
  });

  test.each([
    [
      "use",
      {
        ...snapshotOrder(0.1),
        ...Object.fromEntries(Array.from({ length: 40_000 }, (_, n) => [`k${n}`, 1])),
      },
    ],
    ["use", { ...snapshotOrder(0.1), operation_id: "o".repeat(1_000_000) }],
    ["use", { ...snapshotOrder(0.1), arguments: { ticker: "A", ["n".repeat(1_000_000)]: {} } }],
    ["batch_use", { calls: Array.from({ length: 40_000 }, () => ({})) }],
    ["get_details", { operation_id: "rerank.create", include: Array.from({ length: 40_000 }, () => 1) }],
  ])("however many mistakes and megabytes %s is given, its answer is short", async (name, given) => {
    const { isError, ...answer } = await useTool(mcp, account.key, name, given);
    expect(isError).toBe(true);
    expect(answer.content[0]?.text).toContain("invalid_arguments");
    expect(JSON.stringify(answer).length).toBeLessThan(4_000);
  });

  test("a refused argument is named", async () => {
    const { structuredContent } = await useTool(mcp, account.key, "batch_use", {
      calls: [snapshotOrder(0.1), snapshotOrder(-1)],
    });
    expect(structuredContent["error"]).toMatchObject({
      code: "invalid_arguments",
      message: "arguments/calls/1/max_price_usd must be >= 0. Nothing was charged.",
    });
  });

  test("a request whose body is broken counts too, and beyond the limit it is 429 like any other", async () => {
    const tight = await openTestGateway({ config: "tiers: { free: { rpm: 5, tpm: 1000, concurrency: 1 } }" });
    const { key } = await tight.openAccount({ tier: "free" });
    const post = (body: string, headers: Record<string, string> = {}): Promise<Response> =>
      fetch(`${tight.url}/mcp`, {
        method: "POST",
        headers: { ...modernHeaders(key, "tools/call", "use"), ...headers },
        body,
      });
    const broken: readonly (readonly [string, Record<string, string>, number])[] = [
      ["{", {}, 400],
      ["[]", {}, 400],
      ["", {}, 400],
      ["{}", { "content-encoding": "br" }, 415],
      ["x".repeat(4 * 1024 * 1024 + 1), {}, 413],
    ];
    for (const [at, [body, headers, status]] of broken.entries()) {
      const refused = await post(body, headers);
      expect([refused.status, refused.headers.get("x-ratelimit-remaining-requests")]).toEqual([
        status,
        String(4 - at),
      ]);
    }
    for (const [body, headers] of broken) {
      const refused = await post(body, headers);
      expect([refused.status, Number(refused.headers.get("retry-after")) > 0]).toEqual([429, true]);
    }
    await tight.close();
  });

  test("every answer to who was let in says how the limit on requests stands", async () => {
    const tight = await openTestGateway({ config: "tiers: { free: { rpm: 4, tpm: 1000, concurrency: 1 } }" });
    const { key } = await tight.openAccount({ tier: "free" });
    const url = `${tight.url}/mcp`;
    const told = ({ headers }: { readonly headers: Headers }): unknown[] =>
      ["limit", "remaining", "reset"].map((part) => headers.get(`x-ratelimit-${part}-requests`));
    const nowSeconds = Math.floor(Date.now() / 1000);
    const inAMinute = (reset: unknown): boolean =>
      Number(reset) >= nowSeconds && Number(reset) <= nowSeconds + 120;
    const tool = { name: "use", arguments: snapshotOrder(0) };
    for (const [ask, status, remaining] of [
      [() => askModern(url, key, "tools/list"), 200, "3"],
      [() => askModern(url, key, "tools/call", tool), 200, "2"],
      [() => askModern(url, key, "no/such"), 404, "1"],
      [() => fetch(url, { headers: { authorization: `Bearer ${key}` } }), 405, "0"],
      [() => askModern(url, key, "tools/list"), 429, "0"],
      [() => askModern(url, key, "tools/call", tool), 200, "0"],
    ] as const) {
      const answered = await ask();
      const [limit, left, reset] = told(answered);
      expect([answered.status, limit, left, inAMinute(reset)]).toEqual([status, "4", remaining, true]);
    }
    expect(told(await askModern(url, "tgk_nobody", "tools/list"))).toEqual([null, null, null]);
    await tight.close();
  });

  test("the answer of a tool says how the tightest limit stands that its calls met", async () => {
    const tight = await openTestGateway({ config: "operations: { financial.metrics.snapshot: { rpm: 3 } }" });
    const { key } = await tight.openAccount({ creditUsd: "1" });
    const url = `${tight.url}/mcp`;
    const told = async (name: string, args: object): Promise<unknown[]> => {
      const { headers } = await askModern(url, key, "tools/call", { name, arguments: args });
      return ["limit", "remaining"].map((part) => headers.get(`x-ratelimit-${part}-requests`));
    };
    expect(await told("use", snapshotOrder(0.1))).toEqual(["3", "2"]);
    expect(await told("batch_use", { calls: [snapshotOrder(0.1), snapshotOrder(0.1)] })).toEqual(["3", "0"]);
    expect(await told("use", snapshotOrder(0.1))).toEqual(["3", "0"]);
    await tight.close();
  });

  test("beyond the limit the door answers 429, and a tool says when to come back", async () => {
    const tight = await openTestGateway({ config: "tiers: { free: { rpm: 3, tpm: 1000, concurrency: 1 } }" });
    const { key } = await tight.openAccount({ tier: "free" });
    const url = `${tight.url}/mcp`;
    for (let asked = 0; asked < 3; asked++)
      expect((await askModern(url, key, "tools/list")).status).toBe(200);
    const refused = await askModern(url, key, "tools/list");
    expect([refused.status, Number(refused.headers.get("retry-after")) > 0]).toEqual([429, true]);
    const { isError, structuredContent } = await useTool(url, key, "use", snapshotOrder(0.1));
    expect(isError).toBe(true);
    expect(structuredContent["error"]).toMatchObject({
      code: "rate_limit_exceeded",
      retryable: true,
      charged: "no",
    });
    // Nobody above the limit has megabytes read.
    const long = { operation_id: "x", arguments: { text: "a".repeat(100_000) } };
    const tooLong = await askModern(url, key, "tools/call", { name: "use", arguments: long });
    expect([tooLong.status, Number(tooLong.headers.get("retry-after")) > 0]).toEqual([429, true]);
    await tight.close();
  });
});
