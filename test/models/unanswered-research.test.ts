// What a caller hears where a research vendor found something and answered nothing.

import { afterAll, describe, expect, test } from "bun:test";
import { openExaDouble } from "../doubles/exa.ts";
import { openPerplexityDouble } from "../doubles/perplexity.ts";
import { openTavilyDouble } from "../doubles/tavily.ts";
import { openTestGateway, type TestGateway } from "../support/test-gateway.ts";

const path = "/apis/v1/research/deep-search";
const query = "Why are foxes quick?";
const key = "operator-0000000000000000";

const doubles = {
  perplexity: await openPerplexityDouble({ key }),
  tavily: await openTavilyDouble({ key }),
  exa: await openExaDouble({ key }),
};

const openFor = (vendor: keyof typeof doubles): Promise<TestGateway> =>
  openTestGateway({
    config: `upstreams: { research: { protocol: ${vendor}, url: "${doubles[vendor].url}", key: "${key}" } }`,
  });

afterAll(async () => {
  for (const double of Object.values(doubles)) {
    expect(double.violations).toEqual([]);
    await double.close();
  }
});

const answered = (body: object | string) => ({
  status: 200,
  headers: { "Content-Type": "application/json" },
  body: typeof body === "string" ? body : JSON.stringify(body),
});

test("Exa, which answers only those who say in which shape, is asked for a text", async () => {
  const gateway = await openFor("exa");
  const account = await gateway.openAccount();
  const response = await gateway.post(account, path, { query });
  expect(await response.json()).toMatchObject({ answer: "Foxes are quick." });
  const sent = new TextDecoder().decode(doubles.exa.requests.at(-1)?.body);
  expect(JSON.parse(sent)).toMatchObject({ outputSchema: { type: "text" } });
  expect((await gateway.receipt(account, response)).charged_micros_usd).toBeGreaterThan(0);
  await gateway.close();
});

describe.each([
  {
    vendor: "perplexity",
    unanswered: { id: "resp_1", status: "completed", output: [], usage: { cost: { total_cost: 0.123 } } },
    error: { id: "resp_1", status: "failed", output: [], error: { message: "the model failed" } },
  },
  {
    vendor: "tavily",
    unanswered: { query, answer: null, results: [], usage: { credits: 123 } },
    error: { error: { message: "the model failed" } },
  },
  {
    vendor: "exa",
    unanswered: { requestId: "r", results: [{ url: "https://a.example" }], costDollars: { total: 0.123 } },
    error: { requestId: "r", error: "the model failed" },
  },
] as const)("$vendor", ({ vendor, unanswered, error }) => {
  test("without an answer failed: nothing of it is passed on as one, and nothing is charged", async () => {
    const gateway = await openFor(vendor);
    const account = await gateway.openAccount();
    for (const body of [unanswered, "<html>busy</html>", "[]"]) {
      doubles[vendor].answerNext(answered(body));
      const response = await gateway.post(account, path, { query });
      expect(response.status).toBe(502);
      expect(await response.json()).toEqual({
        error: "provider request failed",
        code: "provider_request_failed",
        request_id: response.headers.get("x-request-id"),
      });
      expect(await gateway.receipt(account, response)).toMatchObject({
        outcome: "failed",
        charged_micros_usd: 0,
        attempts: [{ outcome: "malformed" }],
      });
    }
    expect(await gateway.balance(account)).toEqual({ balance: 2_000_000, held: 0 });
    expect(await gateway.audit()).toEqual([]);
    await gateway.close();
  });

  test("with an error in place of an answer is told as that error", async () => {
    const gateway = await openFor(vendor);
    const account = await gateway.openAccount();
    doubles[vendor].answerNext(answered(error));
    const response = await gateway.post(account, path, { query });
    expect([response.status, await response.json()]).toEqual([502, error]);
    expect(await gateway.receipt(account, response)).toMatchObject({
      outcome: "failed",
      charged_micros_usd: 0,
    });
    await gateway.close();
  });
});
