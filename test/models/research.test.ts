// Deep research whoever does it: what callers may ask, how often, and what is quoted, held and charged for it.

import { describe, expect, test } from "bun:test";
import { priceOf } from "../../gateway/src/contract/price-of.ts";
import { priceInWords } from "../../gateway/src/contract/sales-items.ts";
import { describeGap } from "../../gateway/src/offer/advice/gap.ts";
import { useTool } from "../agents/agent-client.ts";
import { last } from "../doubles/vendor-double.ts";
import { json } from "../support/answers.ts";
import { openTestGateway, type TestGateway } from "../support/test-gateway.ts";
import {
  configFor,
  path,
  query,
  scripted,
  useResearchVendors,
  type Answer,
  type VendorName,
} from "./research-vendors.ts";

const { doubles, gateways } = await useResearchVendors();

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
      config: `operations:
  research.deep_search: { price_usd: 1 }
  rerank.create: { price_usd: 1, cost_factor: 2 }
  usage.get: { price_usd: 1 }`,
    });
    const gaps = gateway.gateway.offer().gaps.map(describeGap);
    expect(gaps).toContain(
      "operations.research.deep_search.price_usd: this operation is priced by what its vendor reports",
    );
    expect(gaps.filter((gap) => gap.startsWith("operations.rerank.create: cost_factor"))).toHaveLength(1);
    expect(gaps).toContain("operations.rerank.create.price_usd: this operation is priced by its models");
    expect(gaps).toContain("operations.usage.get.price_usd: this operation is free");
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
