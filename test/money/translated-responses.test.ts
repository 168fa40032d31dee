// What a response is held for bounds what a model of another vendor's reads of it, which is more than its caller wrote.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { openModelVendors, models, type ModelVendors } from "../streams/model-vendors.ts";
import { dialectNames, type DialectName } from "../streams/dialects.ts";
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

const quoteOf = async (vendor: DialectName, members: object, at = gateway, by = account): Promise<number> => {
  const body = { model: models[vendor], input: "Hi.", max_output_tokens: 20, ...members };
  const quote = await at.post(by, "/v1/responses", body, { "x-tollgate-cost-mode": "quote" });
  expect(quote.status).toBe(200);
  return ((await quote.json()) as Quote).max_cost_micros_usd;
};

/** Of a caller's own body and an answer, at the dearest price of input. */
const holdFor = (members: object, moreTokens: number): number =>
  (JSON.stringify(members).length + 100 + moreTokens) * 5 + 20 * 10;

describe.each(dialectNames)("%s, who reads what stands in the body and nothing else", (vendor) => {
  test("holds for tools in namespaces what they come to", async () => {
    const inside = { type: "function", name: "look_up", parameters: { type: "object", properties: {} } };
    const namespace = { type: "namespace", name: "mcp__files__", description: "Files.", tools: [inside] };
    const members = { tools: [namespace] };
    expect(await quoteOf(vendor, members)).toBeLessThanOrEqual(holdFor(members, 1_000 + 150));
    const added = {
      input: [
        { type: "additional_tools", tools: [namespace] },
        { role: "user", content: "Hi." },
      ],
    };
    expect(await quoteOf(vendor, added)).toBeLessThanOrEqual(holdFor(added, 1_000 + 150));
  });

  test("holds for a search for tools, and for what it found, what they come to", async () => {
    const parameters = { type: "object", properties: { query: { type: "string" } } };
    const search = { type: "tool_search", execution: "client", description: "Finds.", parameters };
    const alone = { tools: [search] };
    expect(await quoteOf(vendor, alone)).toBeLessThanOrEqual(holdFor(alone, 1_000 + 150));
    const inside = ["look_up", "put_down"].map((name) => ({ type: "function", name, parameters }));
    const namespace = { type: "namespace", name: "mcp__files__", description: "Files.", tools: inside };
    const byCaller = { execution: "client", call_id: "call_1", status: "completed" };
    const members = {
      tools: [search],
      input: [
        { role: "user", content: "Hi." },
        { type: "tool_search_call", ...byCaller, arguments: { query: "files" } },
        { type: "tool_search_output", ...byCaller, tools: [namespace] },
      ],
    };
    const quoted = await quoteOf(vendor, members);
    expect(quoted).toBeLessThanOrEqual(holdFor(members, 1_000 + 6 * 150));
    // Each name is told twice: as what was found, and as a tool.
    expect(quoted).toBeGreaterThanOrEqual((JSON.stringify(members).length + 5 * 150) * 2.5);
  });

  test("holds nothing for what OpenAI has kept of an earlier answer", async () => {
    const kept = [
      { type: "reasoning", id: "rs_1", summary: [] },
      { type: "web_search_call", id: "ws_1", status: "completed" },
    ];
    const members = { input: [...kept, { role: "user", content: "Hi." }] };
    expect(await quoteOf(vendor, members)).toBeLessThanOrEqual(holdFor(members, 0));
  });
});

describe("where a model has one upstream that knows responses and one that is told them in other words", () => {
  const openWith = async (more: string): Promise<[TestGateway, TestAccount]> => {
    const config = vendors.config({ openai: "responses: native", more: `${more}\nsandbox: off` });
    const opened = await openTestGateway({ config });
    return [opened, await opened.openAccount()];
  };
  const price = "{ input: 2.5, cache_write: 3, cache_write_1h: 5, output: 10 }";
  const both = `  both: { via: [{ anthropic: claude-x }, { openai: gpt-x }], price: ${price}, max_output_tokens: 8192 }`;
  const quoteOfBoth = async (members: object): Promise<number> => {
    const [mixed, callers] = await openWith(both);
    const most = await quoteOf("openai", { ...members, model: "both" }, mixed, callers);
    await mixed.close();
    return most;
  };
  const byCaller = { execution: "client", call_id: "call_1", status: "completed" };
  const found = {
    input: [
      { role: "user", content: "Hi." },
      { type: "tool_search_call", ...byCaller, arguments: { query: "files" } },
      {
        type: "tool_search_output",
        ...byCaller,
        tools: Array.from({ length: 100 }, (_, at) => ({ type: "function", name: `t${at}` })),
      },
    ],
  };

  test("what the first can read is held for", async () => {
    const namespace = { type: "namespace", name: "files", description: "Files.", tools: [] };
    expect(await quoteOfBoth({ tools: [namespace] })).toBeGreaterThan(1_000_000);
    const kept = { input: [{ type: "web_search_call", id: "ws_1", status: "completed" }] };
    expect(await quoteOfBoth(kept)).toBeGreaterThan(1_000_000);
  });

  test("what the second is told is held for", async () => {
    const [mixed, callers] = await openWith(both);
    const members = { ...found, model: "both", max_output_tokens: 20 };
    expect((await mixed.post(callers, "/v1/responses", members)).status).toBe(200);
    await mixed.close();
    const { tools, messages } = sentTo(vendors.doubles.anthropic);
    const told = JSON.stringify({ tools, messages });
    expect(await quoteOfBoth(found)).toBeGreaterThanOrEqual(told.length * 5 + 20 * 10);
  });

  test("where the first is the only one, no more is held than for what it reads", async () => {
    const [native, callers] = await openWith("");
    const body = { model: models.openai, max_output_tokens: 20, ...found };
    const most = await quoteOf("openai", found, native, callers);
    expect(most).toBe((JSON.stringify(body).length + 1_000) * 5 + 20 * 10);
    await native.close();
  });
});

test.each(dialectNames)(
  "the schemas that tools of free text get on their way to %s are held for",
  async (vendor) => {
    const tools = Array.from({ length: 100 }, (_, at) => ({ type: "custom", name: `t${at}` }));
    const body = { model: models[vendor], input: "Hi.", max_output_tokens: 20, tools };
    const response = await gateway.post(account, "/v1/responses", body);
    expect(response.status).toBe(200);
    const most = await quoteOf(vendor, { tools });
    const told = JSON.stringify(sentTo(vendors.doubles[vendor])["tools"]);
    expect(most).toBeGreaterThanOrEqual(told.length * 2.5 + 20 * 10);
  },
);
