// Deep research through each vendor: what leaves, what comes back, and the vendor's own cost passed on to the micro.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { priceOf } from "../../gateway/src/contract/price-of.ts";
import { priceInWords } from "../../gateway/src/contract/sales-items.ts";
import { describeGap } from "../../gateway/src/offer/gap.ts";
import { readCostMicros } from "../../gateway/src/upstreams/answers/read-cost.ts";
import { useTool } from "../agents/agent-client.ts";
import { openExaDouble } from "../doubles/exa.ts";
import { headerValues } from "../doubles/http-wire.ts";
import { openPerplexityDouble } from "../doubles/perplexity.ts";
import { openTavilyDouble } from "../doubles/tavily.ts";
import type { RecordedRequest, VendorDouble } from "../doubles/vendor-double.ts";
import { openTestGateway, type TestGateway } from "../support/harness.ts";

const path = "/apis/v1/research/deep-search";
const query = "Why are foxes quick?";

const keys = {
  perplexity: "pplx-operator-000000000000",
  tavily: "tvly-operator-000000000000",
  exa: "exa-operator-0000000000000",
} as const;
type VendorName = keyof typeof keys;

const json = async <Shape>(response: Response | Promise<Response>): Promise<Shape> =>
  (await (await response).json()) as Shape;

interface Answer {
  readonly answer: string;
  readonly citations: readonly { readonly url: string; readonly title: string | null }[];
  readonly usage: Readonly<Record<string, number>>;
}

const last = (double: VendorDouble): RecordedRequest => {
  const request = double.requests.at(-1);
  if (!request) throw new Error("nothing arrived");
  return request;
};

const configFor = (vendor: VendorName, url: string, more = ""): string =>
  `upstreams: { research: { protocol: ${vendor}, url: "${url}", key: "${keys[vendor]}" } }\n${more}`;

const openDoubles = async () => ({
  perplexity: await openPerplexityDouble({ key: keys.perplexity }),
  tavily: await openTavilyDouble({ key: keys.tavily }),
  exa: await openExaDouble({ key: keys.exa }),
});

const openGateways = async (doubles: Awaited<ReturnType<typeof openDoubles>>) => ({
  perplexity: await openTestGateway({ config: configFor("perplexity", doubles.perplexity.url) }),
  tavily: await openTestGateway({ config: configFor("tavily", doubles.tavily.url) }),
  exa: await openTestGateway({ config: configFor("exa", doubles.exa.url) }),
});

let doubles: Awaited<ReturnType<typeof openDoubles>>;
let gateways: Awaited<ReturnType<typeof openGateways>>;

beforeAll(async () => {
  doubles = await openDoubles();
  gateways = await openGateways(doubles);
});

afterAll(async () => {
  for (const gateway of Object.values(gateways)) {
    expect(await gateway.audit()).toEqual([]);
    await gateway.close();
  }
  for (const double of Object.values(doubles)) {
    expect(double.violations).toEqual([]);
    await double.close();
  }
});

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
    sent: { query, type: "deep-reasoning", contents: { highlights: true } },
    keyHeader: ["x-api-key", keys.exa],
    answer: "Foxes are quick.",
    bookedMicros: () => microsOf(doubles.exa.book.at(-1)?.billed.usd),
    withCost: (cost) => ({ output: { content: "Because." }, results: [], costDollars: { total: cost } }),
    failed: { requestId: "r", results: [], costDollars: { total: 0.015 } },
  },
];

const scripted = (body: object | string) => ({
  status: 200,
  headers: { "Content-Type": "application/json" },
  body: typeof body === "string" ? body : JSON.stringify(body),
});

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

  test("that gives no answer, or no cost, is passed on and not charged", async () => {
    const account = await at().openAccount();
    double().answerNext(scripted(vendor.failed));
    const failed = await at().post(account, path, { query });
    expect([failed.status, await json<object>(failed)]).toEqual([200, vendor.failed]);
    double().answerNext(scripted("<html>busy</html>"));
    const page = await at().post(account, path, { query });
    expect([page.status, await page.text()]).toEqual([200, "<html>busy</html>"]);
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
    expect(failed.status).toBe(200);
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

describe("deep research", () => {
  const plain = (): TestGateway => gateways.exa;

  test("is refused by the member that is wrong", async () => {
    const account = await plain().openAccount();
    for (const [body, word] of [
      [{}, "query is required"],
      [{ query: "" }, "query: must not be empty"],
      [{ query, max_results: 0 }, "max_results"],
      [{ query, depth: "deeper" }, "unknown member: depth"],
    ] as const) {
      const response = await plain().post(account, path, body);
      const { error, code } = await json<{ error: string; code: string }>(response);
      expect([response.status, code]).toEqual([400, "invalid_parameters"]);
      expect(error).toContain(word);
    }
  });

  test("says instructions to those who take them; Tavily takes none, and the caller is told", async () => {
    const sent = async (vendor: VendorName): Promise<Record<string, unknown>> => {
      const account = await gateways[vendor].openAccount();
      await gateways[vendor].post(account, path, { query, instructions: "Be brief." });
      return JSON.parse(new TextDecoder().decode(last(doubles[vendor]).body)) as Record<string, unknown>;
    };
    expect(await sent("perplexity")).toMatchObject({ instructions: "Be brief." });
    expect(await sent("exa")).toMatchObject({ systemPrompt: "Be brief." });
    const account = await gateways.tavily.openAccount();
    const refused = await gateways.tavily.post(account, path, { query, instructions: "Be brief." });
    expect([refused.status, (await json<{ error: string }>(refused)).error]).toEqual([
      400,
      "instructions: Tavily takes none",
    ]);
  });

  test("is limited to 5 a minute for a key, and holds a place while it runs", async () => {
    const account = await plain().openAccount();
    for (let calls = 0; calls < 5; calls++) {
      expect((await plain().post(account, path, { query })).status).toBe(200);
    }
    const limited = await plain().post(account, path, { query });
    expect([limited.status, (await json<{ error: { code: string } }>(limited)).error.code]).toEqual([
      429,
      "rate_limit_exceeded",
    ]);
    const limits = await json<{ limits: { applies_to: unknown; limit: number }[] }>(
      plain().call(account, "/v1/limits"),
    );
    const own = limits.limits.find(({ applies_to: to }) => String(to) === "research.deep_search");
    expect(own).toMatchObject({ limit: 5, remaining: 0 });

    const crowd = await plain().openAccount({ tier: "free" });
    const before = doubles.exa.requests.length;
    doubles.exa.answerNext({ kind: "slow", chunkBytes: 32, everyMs: 50 });
    const running = plain().post(crowd, path, { query });
    while (doubles.exa.requests.length === before) await Bun.sleep(5);
    const places = await json<{ limits: { name: string; limit: number; remaining: number }[] }>(
      plain().call(crowd, "/v1/limits"),
    );
    expect(places.limits.find(({ name }) => name === "concurrency")).toMatchObject({
      limit: 5,
      remaining: 4,
    });
    expect((await running).status).toBe(200);
  });

  test("is quoted as an estimate, with the hold as its bound", async () => {
    const account = await plain().openAccount({ creditUsd: "0.4" });
    const quoted = await plain().post(account, path, { query }, { "x-tollgate-cost-mode": "quote" });
    expect(await json<object>(quoted)).toMatchObject({
      operation_id: "research.deep_search",
      estimate_kind: "estimate",
      estimated_cost_micros_usd: 50_000,
      max_cost_micros_usd: 500_000,
      may_exceed_estimate: true,
      breakdown: [{ unit: "micro_usd", quantity: 50_000, unit_price_usd: "0.000001" }],
    });
    expect((await plain().post(account, path, { query })).status).toBe(402);
  });

  test("is held for before it is sent: of five at once on a balance for two, two are served", async () => {
    const account = await plain().openAccount({ creditUsd: "1" });
    const before = doubles.exa.requests.length;
    for (let calls = 0; calls < 2; calls++) {
      doubles.exa.answerNext({ kind: "slow", chunkBytes: 64, everyMs: 30 });
    }
    const responses = await Promise.all(
      Array.from({ length: 5 }, () => plain().post(account, path, { query })),
    );
    expect(responses.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      200, 200, 402, 402, 402,
    ]);
    expect(doubles.exa.requests.length - before).toBe(2);

    const capped = await plain().openAccount();
    for (const [usd, status] of [
      ["0.499999", 402],
      ["0.5", 200],
    ] as const) {
      const response = await plain().post(capped, path, { query }, { "x-tollgate-max-price-usd": usd });
      expect(response.status).toBe(status);
    }
  });

  test("costs the operator's factor times the vendor's cost, held to the operator's bound", async () => {
    const more = "operations: { research.deep_search: { cost_factor: 1.25, max_cost_usd: 0.2 } }";
    const gateway = await openTestGateway({ config: configFor("exa", doubles.exa.url, more) });
    const account = await gateway.openAccount();
    doubles.exa.answerNext(scripted({ output: { content: "Because." }, costDollars: { total: 0.1 } }));
    const response = await gateway.post(account, path, { query });
    expect(await gateway.receipt(account, response)).toMatchObject({
      held_micros_usd: 200_000,
      usage: { micro_usd: 100_000 },
      prices: [{ unit: "micro_usd", quantity: 100_000, unit_price_usd: "0.00000125" }],
      charged_micros_usd: 125_000,
    });
    expect(await gateway.audit()).toEqual([]);
    expect(
      gateway.gateway
        .offer()
        .gaps.map(describeGap)
        .filter((gap) => gap.includes("deep_search")),
    ).toEqual([]);
    await gateway.close();
  });

  test("costs no more than the operator's bound, factor and all, and every door says that bound", async () => {
    const more = "operations: { research.deep_search: { cost_factor: 2, max_cost_usd: 0.06 } }";
    const gateway = await openTestGateway({ config: configFor("exa", doubles.exa.url, more) });
    const account = await gateway.openAccount();

    const quoted = await gateway.post(account, path, { query }, { "x-tollgate-cost-mode": "quote" });
    expect(await json<object>(quoted)).toMatchObject({
      estimated_cost_micros_usd: 60_000,
      max_cost_micros_usd: 60_000,
      may_exceed_estimate: false,
      breakdown: [{ unit: "micro_usd", quantity: 30_000, unit_price_usd: "0.000002" }],
    });
    const details = await useTool(`${gateway.url}/mcp`, account.key, "get_details", {
      operation_id: "research.deep_search",
    });
    expect(details.structuredContent["pricing"]).toMatchObject({ estimate_usd: 0.06, max_usd: 0.06 });
    const offered = gateway.gateway.offer().operations.get("research.deep_search");
    if (!offered) throw new Error("not on sale");
    const published = priceOf(offered);
    expect(published).toMatchObject({ cost_factor: "2", usual_usd: "0.06", at_most_usd: "0.06" });
    expect(priceInWords(published)).toBe("what the vendor reports × 2, at most 0.06 USD");

    doubles.exa.answerNext(scripted({ output: { content: "Because." }, costDollars: { total: 0.05 } }));
    const response = await gateway.post(account, path, { query }, { "x-tollgate-max-price-usd": "0.06" });
    const receipt = await gateway.receipt(account, response);
    expect(receipt).toMatchObject({
      held_micros_usd: 60_000,
      usage: { micro_usd: 50_000 },
      usage_value_micros_usd: 100_000,
      charged_micros_usd: 60_000,
    });
    expect(receipt.explanation).toContain("40000 micro-USD above the hold were written off");
    expect(await gateway.audit()).toEqual([]);
    await gateway.close();
  });

  test.each([
    ["of which the bound is no multiple", { cost_factor: 0.7, max_cost_usd: 0.000_02 }, 20],
    ["that leaves a part of the bound", { cost_factor: 3, max_cost_usd: 0.2 }, 199_998],
    ["of nothing", { cost_factor: 0, max_cost_usd: 0.2 }, 0],
    ["as small as they come", { cost_factor: 0.000_001, max_cost_usd: 1_000_000 }, 1_000_000],
  ])("is held for by a factor %s, never above the bound", async (_what, written, heldMicros) => {
    const more = `operations: { research.deep_search: ${JSON.stringify(written)} }`;
    const gateway = await openTestGateway({ config: configFor("exa", doubles.exa.url, more) });
    const account = await gateway.openAccount();
    const quoted = await gateway.post(account, path, { query }, { "x-tollgate-cost-mode": "quote" });
    expect(await json<object>(quoted)).toMatchObject({ max_cost_micros_usd: heldMicros });
    await gateway.close();
  });

  test("in words that do not fit an operation, a price is a gap", async () => {
    const gateway = await openTestGateway({
      config: "operations: { research.deep_search: { price_usd: 1 }, rerank.create: { cost_factor: 2 } }",
    });
    const gaps = gateway.gateway.offer().gaps.map(describeGap);
    expect(gaps).toContain(
      "operations.research.deep_search.price_usd: this operation is priced by what its vendor reports",
    );
    expect(gaps.filter((gap) => gap.startsWith("operations.rerank.create: cost_factor"))).toHaveLength(1);
    await gateway.close();
  });

  test("in the sandbox its book, the ledger and the caller agree", async () => {
    const gateway = await openTestGateway();
    const account = await gateway.openAccount();
    const response = await gateway.post(account, path, { query });
    const { usage, answer, citations } = await json<Answer>(response);
    expect([answer.length > 0, citations.length > 0]).toEqual([true, true]);
    const booked = (await gateway.sandbox.book())[0]?.billed?.["cost_micros_usd"];
    const receipt = await gateway.receipt(account, response);
    expect([usage["micro_usd"], receipt.charged_micros_usd]).toEqual([booked ?? -1, booked ?? -1]);
    expect(await gateway.audit()).toEqual([]);
    await gateway.close();
  });
});

describe("a cost", () => {
  const usd = (amount: unknown, anomalies: string[] = []) =>
    readCostMicros({ amount, microsEach: 1_000_000n }, anomalies);

  test.each([
    [0, 0],
    [0.000001, 1],
    [1e-7, 1],
    [1.5e-6, 2],
    [0.1 + 0.2, 300_000],
    [0.0051200000000000004, 5_120],
    ["0.0123", 12_300],
    [1234567.000001, 1_234_567_000_001],
    [1e21, 1_000_000_000_000],
  ])("of %p USD is %p micro-USD", (amount, micros) => {
    expect(usd(amount)).toBe(Math.min(micros, 1_000_000_000_000));
  });

  test.each([[undefined], [null]])("that is %p is none", (amount) => {
    const anomalies: string[] = [];
    expect([usd(amount, anomalies), anomalies]).toEqual([undefined, []]);
  });

  test.each([[Number.NaN], [Infinity], ["much"], [{}], [true], [""]])(
    "that is %p is none, and named",
    (amount) => {
      const anomalies: string[] = [];
      expect([usd(amount, anomalies), anomalies.length]).toEqual([undefined, 1]);
    },
  );

  test("below zero is 0, and named", () => {
    const anomalies: string[] = [];
    expect([usd(-0.5, anomalies), anomalies]).toEqual([0, ["the cost is negative"]]);
  });

  test("in credits is counted by what one of them costs", () => {
    expect(readCostMicros({ amount: 2, microsEach: 8_000n }, [])).toBe(16_000);
    expect(readCostMicros({ amount: 1.5, microsEach: 8_000n }, [])).toBe(12_000);
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
