// Usage and success as upstreams state them, true or not: what is believed, what is charged, and what is written off.

import { describe, expect, test } from "bun:test";
import { json } from "../support/answers.ts";
import { begunStream, receiptOfDied, startAfterDeath } from "../support/died-stream.ts";
import { omitted, type JsonValue } from "../doubles/vendor-checks.ts";
import { chat, tagPath } from "../support/purchases.ts";
import { configFor, ranking, useFaultyVendors } from "./faulty-vendors.ts";
import { creditMicros, openTestGateway } from "../support/test-gateway.ts";

const { lies, doubles, gateway, books, receiptOf, expectNotCharged } = await useFaultyVendors();

describe("the reseller is paid for only by an integer 200 in the body of a 2xx", () => {
  const envelopes: readonly {
    readonly code?: JsonValue;
    readonly status: number;
    /** What the receipt says that the vendor told, where that is not its status. */
    readonly told?: number;
    readonly paid: boolean;
  }[] = [
    { code: 200, status: 200, paid: true },
    { code: 200, status: 203, paid: true },
    { code: "200", status: 200, paid: false },
    { code: 400, status: 200, told: 400, paid: false },
    { code: 200, status: 500, paid: false },
    { code: 200, status: 404, paid: false },
    { status: 200, paid: false },
    { code: 200.5, status: 200, paid: false },
    { code: null, status: 200, paid: false },
    { code: [200], status: 200, paid: false },
    { code: true, status: 200, paid: false },
  ];
  test.each(envelopes)(
    "code $code with HTTP $status: paid $paid",
    async ({ code, status, told = status, paid }) => {
      const account = await gateway.openAccount();
      const body = JSON.stringify({ code, data: { id: "7301234567890123459" } });
      doubles.tikhub.answerNext({ status, headers: { "Content-Type": "application/json" }, body });
      const response = await gateway.call(account, tagPath);
      expect([response.status, await response.text()]).toEqual([status, body]);
      const attempts = [{ upstream: "reseller", outcome: "answered", status: told }];
      if (paid) expect(await gateway.balance(account)).toEqual({ balance: creditMicros - 1_450, held: 0 });
      else await expectNotCharged(account, response, { outcome: "failed", http_status: status, attempts });
    },
  );
});

describe("usage as the upstream states it", () => {
  const bytes = Buffer.byteLength(JSON.stringify(chat));
  const holdMicros = Math.ceil(bytes * 2.5 + 100 * 10);
  const usageOf = (prompt: JsonValue, completion: JsonValue, cached?: JsonValue): JsonValue => ({
    prompt_tokens: prompt,
    completion_tokens: completion,
    ...(cached === undefined ? {} : { prompt_tokens_details: { cached_tokens: cached } }),
  });

  interface Stated {
    readonly what: string;
    readonly usage: JsonValue | typeof omitted;
    readonly reply?: string;
    readonly charged: number;
    readonly writtenOff?: number;
    readonly anomalies?: number;
    readonly source?: "estimated" | "none";
  }

  // Without usage the input is estimated at four bytes a token, as is the output that came.
  const reply = "The quick brown fox.";
  const estimated = Math.floor(Math.ceil(bytes / 4) * 2.5 + Math.ceil(reply.length / 4) * 10);
  const inputCharge = Math.floor(8 * 2.5);
  // Nobody wrote down how much this model reads, so it is the most that any does.
  const reachTokens = 10 * (2_000_000 + 1000);

  const cases: readonly Stated[] = [
    { what: "0 costs 0", usage: usageOf(0, 0), charged: 0 },
    { what: "the true figures cost what they say", usage: usageOf(8, 2), charged: 40 },
    { what: "all that was held costs all that was held", usage: usageOf(bytes, 100), charged: holdMicros },
    {
      what: "one token above the hold is written off",
      usage: usageOf(bytes, 101),
      charged: holdMicros,
      writtenOff: Math.floor(bytes * 2.5 + 1010) - holdMicros,
    },
    {
      what: "ten times the hold is written off",
      usage: usageOf(bytes * 10, 1000),
      charged: holdMicros,
      writtenOff: Math.floor(bytes * 25 + 10_000) - holdMicros,
    },
    { what: "-1 counts as 0 and is noted", usage: usageOf(8, -1), charged: inputCharge, anomalies: 1 },
    { what: "1.5 counts as 1 and is noted", usage: usageOf(8, 1.5), charged: inputCharge + 10, anomalies: 1 },
    {
      what: "all that its model can read and write, ten times over, is written off",
      usage: usageOf(8, reachTokens),
      charged: holdMicros,
      writtenOff: inputCharge + reachTokens * 10 - holdMicros,
    },
    ...[reachTokens + 1, 1e12, 1e30].map((absurd) => ({
      what: `${absurd} tokens, which this call cannot use, count as the most it could, and are noted`,
      usage: usageOf(8, absurd),
      charged: holdMicros,
      writtenOff: inputCharge + reachTokens * 10 - holdMicros,
      // What no call at all can use is odd before anybody looks at this one.
      anomalies: absurd > 1e12 ? 2 : 1,
    })),
    { what: "nothing, beside output, is estimated", usage: omitted, charged: estimated, source: "estimated" },
    { what: "nothing, without output, costs nothing", usage: omitted, reply: "", charged: 0, source: "none" },
    { what: "null, without output, costs nothing", usage: null, reply: "", charged: 0, source: "none" },
    {
      what: "text is no figure: estimated and noted",
      usage: usageOf("12", "2"),
      charged: estimated,
      anomalies: 2,
      source: "estimated",
    },
    {
      what: "more cached than prompted counts as all cached and is noted",
      usage: usageOf(8, 2, 800),
      charged: 8 * 0.25 + 20,
      anomalies: 1,
    },
    {
      what: "negative cached counts as none and is noted",
      usage: usageOf(8, 2, -5),
      charged: 40,
      anomalies: 1,
    },
  ];

  const counter = async (name: string): Promise<number> => {
    const text = await (await fetch(`${gateway.url}/metrics`)).text();
    return [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\d+)$`, "gm"))].reduce(
      (sum, [, value]) => sum + Number(value),
      0,
    );
  };

  test.each(cases)(
    "$what",
    async ({ usage, reply: text = reply, charged, writtenOff = 0, anomalies = 0, source }) => {
      const account = await gateway.openAccount();
      const oddBefore = await counter("tollgate_usage_anomalies_total");
      const lostBefore = await counter("tollgate_written_off_micros_usd_total");
      const warnedBefore = gateway.logged.filter((line) => line.includes("odd usage reported")).length;
      lies.chatUsage = usage;
      lies.chatReply = text;
      const response = await gateway.post(account, "/v1/chat/completions", chat);
      delete lies.chatUsage;
      delete lies.chatReply;
      expect(response.status).toBe(200);

      const receipt = await receiptOf(account, response);
      expect(receipt).toMatchObject({
        status: source === "none" ? "released" : "settled",
        outcome: source === "none" ? "failed" : "succeeded",
        usage_source: source ?? "provider",
        held_micros_usd: source === "none" ? receipt.held_micros_usd : holdMicros,
        charged_micros_usd: charged,
        usage_value_micros_usd: charged + writtenOff,
      });
      for (const quantity of Object.values(receipt.usage)) expect(quantity).toBeGreaterThanOrEqual(0);
      expect(await gateway.balance(account)).toEqual({ balance: creditMicros - charged, held: 0 });

      const lost = books
        .query<{ micros: number }, [string]>(
          "SELECT coalesce(sum(amount_micros), 0) AS micros FROM entry WHERE transfer_id = ? AND kind = 'write_off' AND party = 'house:revenue'",
        )
        .get(response.headers.get("x-request-id") ?? "");
      expect(lost?.micros).toBe(writtenOff);
      expect(await counter("tollgate_written_off_micros_usd_total")).toBe(lostBefore + writtenOff);
      expect(await counter("tollgate_usage_anomalies_total")).toBe(oddBefore + anomalies);
      const warned = gateway.logged.filter((line) => line.includes("odd usage reported")).length;
      // One line tells of all of them.
      expect(warned).toBe(warnedBefore + Math.min(anomalies, 1));
      expect(await gateway.audit()).toEqual([]);
    },
  );

  test("odd figures in every event of a stream are counted, and told in one line", async () => {
    const account = await gateway.openAccount();
    const oddBefore = await counter("tollgate_usage_anomalies_total");
    const linesBefore = gateway.logged.length;
    const delta = { choices: [{ index: 0, delta: { content: "word" } }], usage: { prompt_tokens: -1 } };
    const stop = { choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage: usageOf(8, 2) };
    const events = [...Array.from({ length: 2_000 }, () => delta), stop].map((one) => JSON.stringify(one));
    doubles.openai.answerNext({
      status: 200,
      headers: { "Content-Type": "text/event-stream" },
      body: [...events, "[DONE]"].map((data) => `data: ${data}\n\n`).join(""),
    });
    await (await gateway.post(account, "/v1/chat/completions", { ...chat, stream: true })).text();
    expect(await counter("tollgate_usage_anomalies_total")).toBe(oddBefore + 2_000);
    const told = gateway.logged.slice(linesBefore).filter((line) => line.includes("odd usage reported"));
    expect(told).toHaveLength(1);
    expect(JSON.parse(told[0] ?? "")).toMatchObject({ count: 2_000 });
    expect(told[0]?.match(/prompt_tokens is negative/g)).toHaveLength(10);
  });

  test("a lie about tokens makes no nonsense of the usage report, whole or streamed", async () => {
    const reported = async (stated: number, more: object = {}): Promise<number> => {
      const account = await gateway.openAccount({ creditUsd: "50" });
      lies.chatUsage = usageOf(8, stated);
      await (await gateway.post(account, "/v1/chat/completions", { ...chat, ...more })).text();
      delete lies.chatUsage;
      const startSeconds = Math.floor(Date.now() / 1000) - 3600;
      const report = await gateway.call(account, `/v1/usage?start_time=${startSeconds}`);
      return ((await report.json()) as { totals: { output_tokens: number } }).totals.output_tokens;
    };
    expect(await reported(1e12)).toBe(reachTokens);
    expect(await reported(1e12, { stream: true })).toBe(reachTokens);
    // What a long call may use by its own length is believed, although no model is known to read so much.
    const long = { messages: [{ role: "user", content: "x".repeat(4_000_000) }] };
    expect(await reported(40_000_000, long)).toBe(40_000_000);
    expect(await reported(1e12, long)).toBe(
      10 * (Buffer.byteLength(JSON.stringify({ ...chat, ...long })) + 100),
    );
  });

  test("nor of what the next start charges, when the gateway dies in the middle of such a stream", async () => {
    const lie = {
      choices: [{ index: 0, delta: { content: "word" } }],
      usage: { prompt_tokens: 1e12, completion_tokens: 1 },
    };
    const vendor = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => begunStream(lie) });
    const doomed = await openTestGateway({ config: configFor(() => vendor.url.origin) });
    try {
      const account = await doomed.openAccount();
      const streamed = { ...chat, stream: true };
      expect(await receiptOfDied(doomed, account, "/v1/chat/completions", streamed)).toMatchObject({
        status: "settled",
        usage: { input_tokens: reachTokens, output_tokens: 1 },
      });
      expect(await doomed.audit()).toEqual([]);
    } finally {
      await doomed.close();
      await vendor.stop(true);
    }
  });

  test("what the next start charges for a stream that was cut is counted among the charges", async () => {
    const delta = { choices: [{ index: 0, delta: { content: "word" } }] };
    const vendor = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => begunStream(delta) });
    const doomed = await openTestGateway({ config: configFor(() => vendor.url.origin) });
    try {
      const account = await doomed.openAccount();
      const streamed = { ...chat, stream: true };
      const { receipt, next } = await startAfterDeath(doomed, account, "/v1/chat/completions", streamed);
      const metrics = await (await fetch(`${next.url}/metrics`)).text();
      await next.close();
      expect(receipt.charged_micros_usd).toBeGreaterThan(0);
      expect(metrics).toContain(
        `tollgate_charged_micros_usd_total{operation="${receipt.operation_id}"} ${receipt.charged_micros_usd}\n`,
      );
    } finally {
      await doomed.close();
      await vendor.stop(true);
    }
  });

  test("NaN is not JSON: the answer is passed on and costs nothing", async () => {
    const account = await gateway.openAccount();
    const body =
      '{"choices":[{"message":{"content":"hi"}}],"usage":{"prompt_tokens":NaN,"completion_tokens":NaN}}';
    doubles.openai.answerNext({ status: 200, headers: { "Content-Type": "application/json" }, body });
    const response = await gateway.post(account, "/v1/chat/completions", chat);
    expect([response.status, await response.text()]).toEqual([200, body]);
    expect(await gateway.balance(account)).toEqual({ balance: creditMicros, held: 0 });
  });

  const rerankBytes =
    Buffer.byteLength(ranking.query) * 2 + Buffer.byteLength(ranking.documents.join("")) + 8 * 2;
  const rerankHold = Math.ceil(rerankBytes * 0.05);
  const rerankCases: readonly {
    readonly what: string;
    readonly usage: JsonValue | typeof omitted;
    readonly charged: number;
  }[] = [
    { what: "0", usage: { total_tokens: 0 }, charged: 0 },
    { what: "20", usage: { total_tokens: 20 }, charged: 1 },
    { what: "1e30", usage: { total_tokens: 1e30 }, charged: rerankHold },
    { what: "-1", usage: { total_tokens: -1 }, charged: 0 },
    {
      what: "text",
      usage: { total_tokens: "12" },
      charged: Math.floor(Math.ceil((rerankBytes - 16) / 4) * 0.05),
    },
    { what: "nothing", usage: omitted, charged: Math.floor(Math.ceil((rerankBytes - 16) / 4) * 0.05) },
  ];
  test.each(rerankCases)(
    "a rerank that states $what tokens is charged within its hold, and tells what is billed",
    async ({ usage, charged }) => {
      const account = await gateway.openAccount();
      lies.rerankUsage = usage;
      const response = await gateway.post(account, "/v1/rerank", ranking);
      delete lies.rerankUsage;
      expect(response.status).toBe(200);
      const told = await json<{ usage: { total_tokens: number } }>(response);
      expect(await receiptOf(account, response)).toMatchObject({
        held_micros_usd: rerankHold,
        charged_micros_usd: charged,
        usage: { input_tokens: told.usage.total_tokens },
      });
      expect(await gateway.balance(account)).toEqual({ balance: creditMicros - charged, held: 0 });
    },
  );

  test("a rerank without results and without usage costs nothing", async () => {
    const account = await gateway.openAccount();
    doubles.jina.answerNext({ status: 200, body: '{"results":[]}' });
    const response = await gateway.post(account, "/v1/rerank", ranking);
    expect([response.status, await response.json()]).toEqual([
      200,
      { model: "jina-reranker-v3", results: [], usage: { total_tokens: 0 } },
    ]);
    expect(await gateway.balance(account)).toEqual({ balance: creditMicros, held: 0 });
  });
});
