// What a response is held for bounds what a model of another vendor's reads of it, which is more than its caller wrote.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { openModelVendors, models, type ModelVendors } from "../streams/model-vendors.ts";
import { dialectNames } from "../streams/dialects.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";
import { sentTo } from "../support/model-gateway.ts";
import type { Quote } from "../support/answers.ts";

let vendors: ModelVendors;
let gateway: TestGateway;
let account: TestAccount;

beforeAll(async () => {
  vendors = await openModelVendors();
  gateway = await openTestGateway({
    config: vendors.config({ openai: "responses: translated", more: "sandbox: off" }),
  });
  account = await gateway.openAccount();
});

afterAll(async () => {
  expect(await gateway.audit()).toEqual([]);
  for (const double of Object.values(vendors.doubles)) expect(double.violations).toEqual([]);
  await gateway.close();
  await vendors.close();
});

test.each(dialectNames)(
  "the schemas that tools of free text get on their way to %s are held for",
  async (vendor) => {
    const tools = Array.from({ length: 100 }, (_, at) => ({ type: "custom", name: `t${at}` }));
    const body = { model: models[vendor], input: "Hi.", max_output_tokens: 20, tools };
    const response = await gateway.post(account, "/v1/responses", body);
    expect(response.status).toBe(200);
    const quote = await gateway.post(account, "/v1/responses", body, { "x-tollgate-cost-mode": "quote" });
    const { max_cost_micros_usd: most } = (await quote.json()) as Quote;
    const told = JSON.stringify(sentTo(vendors.doubles[vendor])["tools"]);
    const inputMicros = 2.5;
    expect(most).toBeGreaterThanOrEqual(told.length * inputMicros + 20 * 10);
  },
);
