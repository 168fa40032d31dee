// Deep research through each vendor: what leaves, what comes back, and the vendor's own cost passed on to the micro.

import { describe, expect, test } from "bun:test";
import { headerValues } from "../doubles/http-wire.ts";
import { openTavilyDouble } from "../doubles/tavily.ts";
import { last, type VendorDouble } from "../doubles/vendor-double.ts";
import { json } from "../support/answers.ts";
import { openTestGateway, type TestGateway } from "../support/test-gateway.ts";
import {
  configFor,
  keys,
  path,
  query,
  scripted,
  useResearchVendors,
  type Answer,
  type VendorName,
} from "./research-vendors.ts";

const { doubles, gateways } = await useResearchVendors();

interface Vendor {
  readonly name: VendorName;
  readonly target: string;
  readonly sent: object;
  readonly keyHeader: readonly [string, string];
  readonly answer: string;
  /** What the double bills, by its own book. */
  readonly bookedMicros: () => number;
  /** The same answer with its cost said another way. */
  readonly withCost: (cost: unknown) => object;
  readonly failed: object;
}

const microsOf = (usd: string | undefined): number => Math.round(Number(usd) * 1e6);

const perplexityOutput = [
  { type: "message", content: [{ type: "output_text", text: "Because." }] },
  { type: "search_results", results: [{ url: "https://a.example", title: "A", snippet: "s" }] },
];

const vendors: readonly Vendor[] = [
  {
    name: "perplexity",
    target: "/v1/agent",
    sent: { preset: "high", input: query },
    keyHeader: ["authorization", `Bearer ${keys.perplexity}`],
    answer: "Foxes are quick [1] and brown [2].",
    bookedMicros: () => microsOf(doubles.perplexity.book.at(-1)?.billed.usd),
    withCost: (cost) => ({
      status: "completed",
      output: perplexityOutput,
      usage: { input_tokens: 1, output_tokens: 1, cost: { total_cost: cost, currency: "USD" } },
    }),
    failed: { id: "resp_1", status: "failed", output: [], error: { message: "the model failed" } },
  },
  {
    name: "tavily",
    target: "/search",
    sent: { query, search_depth: "advanced", include_answer: "advanced", include_usage: true },
    keyHeader: ["authorization", `Bearer ${keys.tavily}`],
    answer: "Foxes are quick.",
    bookedMicros: () => (doubles.tavily.book.at(-1)?.billed.credits ?? 0) * 8_000,
    withCost: (cost) => ({
      answer: "Because.",
      results: [],
      usage: { credits: typeof cost === "number" ? cost / 0.008 : cost },
    }),
    failed: { query, answer: null, results: [], usage: { credits: 2 } },
  },
  {
    name: "exa",
    target: "/search",
    sent: {
      query,
      type: "deep-reasoning",
      contents: { highlights: true },
      outputSchema: { type: "text" },
    },
    keyHeader: ["x-api-key", keys.exa],
    answer: "Foxes are quick.",
    bookedMicros: () => microsOf(doubles.exa.book.at(-1)?.billed.usd),
    withCost: (cost) => ({ output: { content: "Because." }, results: [], costDollars: { total: cost } }),
    failed: { requestId: "r", results: [], costDollars: { total: 0.015 } },
  },
];

describe.each(vendors)("$name", (vendor) => {
  const at = (): TestGateway => gateways[vendor.name];
  const double = (): VendorDouble => doubles[vendor.name];

  test("answers with citations, and costs what the vendor says it cost", async () => {
    const account = await at().openAccount();
    const response = await at().post(account, path, { query });
    expect(response.status).toBe(200);
    const body = await json<Answer>(response);
    expect(body.answer).toBe(vendor.answer);
    expect(body.citations.map(({ url, title }) => [url, title])).toEqual([
      ["https://example.com/quick", "Quick"],
      ["https://example.org/brown", "Brown"],
    ]);
    const request = last(double());
    expect([request.method, request.target]).toEqual(["POST", vendor.target]);
    expect(JSON.parse(new TextDecoder().decode(request.body))).toEqual(vendor.sent);
    expect(headerValues(request.headers, vendor.keyHeader[0])).toEqual([vendor.keyHeader[1]]);

    const micros = vendor.bookedMicros();
    expect(micros).toBeGreaterThan(0);
    expect(body.usage["micro_usd"]).toBe(micros);
    expect(await at().receipt(account, response)).toMatchObject({
      operation_id: "research.deep_search",
      status: "settled",
      usage: { micro_usd: micros },
      prices: [{ unit: "micro_usd", quantity: micros, unit_price_usd: "0.000001" }],
      held_micros_usd: 500_000,
      usage_value_micros_usd: micros,
      charged_micros_usd: micros,
    });
    expect(await at().balance(account)).toEqual({ balance: 2_000_000 - micros, held: 0 });
  });

  test("passes decimals on exactly: no float is reckoned with, and parts of a micro round up", async () => {
    const account = await at().openAccount();
    const costs =
      vendor.name === "tavily"
        ? [[0.016, 16_000]]
        : [
            [0.3, 300_000],
            [0.1234561, 123_457],
            [0, 0],
          ];
    for (const [cost, micros] of costs) {
      double().answerNext(scripted(vendor.withCost(cost)));
      const response = await at().post(account, path, { query });
      expect((await at().receipt(account, response)).charged_micros_usd).toBe(micros ?? -1);
    }
  });

  test("above the hold is charged the hold", async () => {
    const account = await at().openAccount();
    double().answerNext(scripted(vendor.withCost(0.8)));
    const response = await at().post(account, path, { query });
    expect(await at().receipt(account, response)).toMatchObject({
      charged_micros_usd: 500_000,
      usage_value_micros_usd: 800_000,
    });
  });

  test("that gives no answer failed, and without a cost it is passed on; neither is charged", async () => {
    const account = await at().openAccount();
    double().answerNext(scripted(vendor.failed));
    const failed = await at().post(account, path, { query });
    expect(failed.status).toBe(502);
    double().answerNext(scripted("<html>busy</html>"));
    const page = await at().post(account, path, { query });
    expect([page.status, (await page.text()).includes("busy")]).toEqual([502, false]);
    double().answerNext(scripted(vendor.withCost(undefined)));
    const silent = await at().post(account, path, { query });
    expect((await json<Answer>(silent)).answer).toBe("Because.");
    for (const response of [failed, page, silent]) {
      expect(await at().receipt(account, response)).toMatchObject({
        outcome: "failed",
        charged_micros_usd: 0,
      });
    }
    expect(await at().balance(account)).toEqual({ balance: 2_000_000, held: 0 });
  });

  test("that tells an error in place of an answer failed, and what it says of the operator is withheld", async () => {
    const account = await at().openAccount();
    double().answerNext(scripted({ error: { code: 503, message: "see vendor.example" } }));
    const failed = await at().post(account, path, { query });
    expect(failed.status).toBe(503);
    expect(await failed.text()).toContain("vendor.example");
    expect((await at().receipt(account, failed)).attempts).toMatchObject([{ status: 503 }]);
    double().answerNext(scripted({ error: { code: "insufficient_credits", message: "see vendor.example" } }));
    const unpaid = await at().post(account, path, { query });
    expect(unpaid.status).toBe(503);
    expect(await unpaid.text()).not.toContain("vendor.example");
    expect(await at().balance(account)).toEqual({ balance: 2_000_000, held: 0 });
  });

  test("keeps its errors; one about the operator's key is nobody's business", async () => {
    const account = await at().openAccount();
    double().answerNext({ ...scripted('{"error":"no"}'), status: 422 });
    const own = await at().post(account, path, { query });
    expect([own.status, await own.text()]).toEqual([422, '{"error":"no"}']);
    double().answerNext({ ...scripted('{"error":"bad key"}'), status: 401 });
    const key = await at().post(account, path, { query });
    expect([key.status, (await key.text()).includes("bad key")]).toEqual([503, false]);
    expect(await at().balance(account)).toEqual({ balance: 2_000_000, held: 0 });
  });

  test("gives no more citations than are asked for", async () => {
    const account = await at().openAccount();
    const { citations } = await json<Answer>(at().post(account, path, { query, max_results: 1 }));
    expect(citations.length).toBe(1);
  });
});

test("a plan that is used up at Tavily is not told to callers, and the next vendor is asked", async () => {
  const detail = { error: "This request exceeds your plan's set usage limit. Please upgrade your plan." };
  for (const status of [432, 433]) {
    const spent = await openTavilyDouble({ key: keys.tavily });
    const alone = await openTestGateway({ config: configFor("tavily", spent.url) });
    spent.answerNext({ ...scripted({ detail }), status });
    const told = await alone.post(await alone.openAccount(), path, { query });
    expect([told.status, (await told.text()).includes("upgrade")]).toEqual([503, false]);
    await alone.close();

    const both = await openTestGateway({
      config: `
upstreams:
  spent: { protocol: tavily, url: "${spent.url}", key: "${keys.tavily}" }
  other: { protocol: exa, url: "${doubles.exa.url}", key: "${keys.exa}" }
operations: { research.deep_search: { via: [spent, other] } }`,
    });
    spent.answerNext({ ...scripted({ detail }), status });
    const asked = doubles.exa.requests.length;
    expect((await both.post(await both.openAccount(), path, { query })).status).toBe(200);
    expect(doubles.exa.requests.length - asked).toBe(1);
    await both.close();
    await spent.close();
  }
});
