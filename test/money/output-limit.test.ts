// The limit of the output that a call is held for is one that its vendor heeds, in the word that this vendor knows.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { openOpenAiDouble } from "../doubles/openai.ts";
import type { ModelDouble } from "../doubles/model-book.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";
import { sentTo } from "../support/model-gateway.ts";
import { chatPath } from "../support/purchases.ts";

let vendor: ModelDouble;
let gateway: TestGateway;
let account: TestAccount;

const key = "sk-key-000000";
const models = ["llama", "unbounded", "gpt-5-x", "openai/o3-mini", "llama-older", "o3-older", "llama-newer"];

beforeAll(async () => {
  vendor = await openOpenAiDouble({ key, models: [...models, "gpt-4o"] });
  const upstream = `protocol: openai, url: "${vendor.url}", key: ${key}, models: []`;
  const price = "price: { input: 1, output: 2 }, max_output_tokens: 100";
  gateway = await openTestGateway({
    config: `
upstreams:
  unsaid: { ${upstream} }
  older: { ${upstream}, output_limit: max_tokens }
  newer: { ${upstream}, output_limit: max_completion_tokens }
  claudelike: { protocol: anthropic, url: "${vendor.url}", key: ${key} }
models:
  llama: { via: [unsaid], ${price} }
  unbounded: { via: [unsaid], price: { input: 1, output: 2 } }
  gpt-5-x: { via: [unsaid], ${price} }
  router: { via: [{ unsaid: openai/o3-mini }], ${price} }
  llama-older: { via: [older], ${price} }
  o3-older: { via: [older], ${price} }
  llama-newer: { via: [newer], ${price} }
  gpt-4o: { via: [unsaid] }
  gpt-4o-mini: { via: [unsaid, claudelike] }
sandbox: off
`,
  });
  account = await gateway.openAccount();
});

afterAll(async () => {
  expect(vendor.violations).toEqual([]);
  await gateway.close();
  await vendor.close();
});

const messages = [{ role: "user", content: "Hello." }];

async function limitsSent(path: string, body: object): Promise<object> {
  const response = await gateway.post(account, path, { messages, ...body });
  expect(await response.text()).not.toContain("error");
  const { max_tokens, max_completion_tokens } = sentTo(vendor);
  return { max_tokens, max_completion_tokens };
}

const older = (limit: number) => ({ max_tokens: limit, max_completion_tokens: undefined });
const newer = (limit: number) => ({ max_tokens: undefined, max_completion_tokens: limit });

test.each([
  ["llama", older(100)],
  ["gpt-5-x", newer(100)],
  ["router", newer(100)],
  ["llama-older", older(100)],
  ["o3-older", older(100)],
  ["llama-newer", newer(100)],
])("a limit that is added for %s is in the word that its vendor knows", async (model, expected) => {
  expect(await limitsSent(chatPath, { model })).toEqual(expected);
  expect(await limitsSent("/v1/messages", { model, max_tokens: 100 })).toEqual(expected);
});

test("a caller's limit is told in a word that its vendor heeds", async () => {
  expect(await limitsSent(chatPath, { model: "llama", max_completion_tokens: 7 })).toEqual(older(7));
  expect(await limitsSent(chatPath, { model: "llama", max_tokens: 7 })).toEqual(older(7));
  expect(await limitsSent(chatPath, { model: "llama", max_tokens: 5, max_completion_tokens: 7 })).toEqual(
    older(7),
  );
  expect(await limitsSent(chatPath, { model: "router", max_completion_tokens: 7 })).toEqual(newer(7));
  expect(await limitsSent(chatPath, { model: "gpt-5-x", max_tokens: 7 })).toEqual(older(7));
});

test("a caller's limit is told in the word that the operator knows its vendor takes", async () => {
  expect(await limitsSent(chatPath, { model: "llama-older", max_completion_tokens: 7 })).toEqual(older(7));
  expect(await limitsSent(chatPath, { model: "llama-newer", max_tokens: 7 })).toEqual(newer(7));
});

test.each([
  ["llama", older(100)],
  ["gpt-5-x", newer(100)],
  ["llama-older", older(100)],
  ["llama-newer", newer(100)],
])("a null is no word: the limit that is added for %s is in its vendor's", async (model, expected) => {
  expect(await limitsSent(chatPath, { model, max_tokens: null })).toEqual(expected);
  expect(await limitsSent(chatPath, { model, max_completion_tokens: null })).toEqual(expected);
  expect(await limitsSent(chatPath, { model, max_tokens: null, max_completion_tokens: null })).toEqual(
    expected,
  );
});

test("beside a prediction, with which OpenAI refuses the newer word, the older one is added", async () => {
  const prediction = { type: "content", content: "Hi." };
  expect(await limitsSent(chatPath, { model: "gpt-5-x", prediction })).toEqual(older(100));
  expect(await limitsSent(chatPath, { model: "gpt-5-x", prediction, max_completion_tokens: null })).toEqual(
    older(100),
  );
});

test("a caller of another dialect who asks for more than the model can write gets what it can; OpenAI's own hears OpenAI", async () => {
  expect(await limitsSent("/v1/messages", { model: "gpt-4o", max_tokens: 32_000 })).toEqual(older(16_384));
  expect(await limitsSent("/v1/messages", { model: "gpt-4o", max_tokens: 5_000 })).toEqual(older(5_000));
  expect(await limitsSent(chatPath, { model: "gpt-4o", max_tokens: 32_000 })).toEqual(older(32_000));
});

test("so it is with a model of which only the operator said what it can write", async () => {
  expect(await limitsSent("/v1/messages", { model: "llama", max_tokens: 32_000 })).toEqual(older(100));
  expect(await limitsSent("/v1/messages", { model: "llama", max_tokens: 50 })).toEqual(older(50));
  expect(await limitsSent(chatPath, { model: "llama", max_tokens: 32_000 })).toEqual(older(32_000));
  expect(await limitsSent("/v1/messages", { model: "unbounded", max_tokens: 32_000 })).toEqual(older(32_000));
});

describe("what is held for an answer, and counted against tokens per minute", () => {
  const askedOf = (model: string, max_tokens: number) => ({ model, messages, max_tokens });

  const heldFor = async (path: string, model: string, limit: number): Promise<number> => {
    const quote = { "x-tollgate-cost-mode": "quote" };
    const response = await gateway.post(account, path, askedOf(model, limit), quote);
    const { max_cost_micros_usd } = (await response.json()) as { readonly max_cost_micros_usd: number };
    return max_cost_micros_usd;
  };

  test("is no more than is sent, where a caller of another dialect asks for more than the model can write", async () => {
    const most = await heldFor("/v1/messages", "gpt-4o", 16_384);
    expect(await heldFor("/v1/messages", "gpt-4o", 64_000)).toBe(most);
    expect(await heldFor("/v1/messages", "gpt-4o", 10_000)).toBe(most - (16_384 - 10_000) * 10);
    expect(await heldFor("/v1/messages", "llama", 64_000)).toBe(
      await heldFor("/v1/messages", "llama", 10_000),
    );

    const caller = await gateway.openAccount({ creditUsd: "0.3", tier: "free" });
    const response = await gateway.post(caller, "/v1/messages", askedOf("gpt-4o", 64_000));
    const inputTokens = Math.ceil(JSON.stringify(askedOf("gpt-4o", 64_000)).length / 4);
    expect(response.status).toBe(200);
    expect(Number(response.headers.get("x-ratelimit-remaining-tokens"))).toBe(60_000 - 16_384 - inputTokens);
  });

  test("is all that is asked for where it may be sent as it is, or nobody wrote down what the model can write", async () => {
    expect(await heldFor(chatPath, "gpt-4o", 64_000)).toBeGreaterThan(64_000 * 10);
    expect(await heldFor("/v1/messages", "gpt-4o-mini", 64_000)).toBeGreaterThan(64_000 * 0.6);
    expect(await heldFor("/v1/messages", "unbounded", 64_000)).toBeGreaterThan(64_000 * 2);
    expect(await heldFor(chatPath, "llama", 64_000)).toBeGreaterThan(64_000 * 2);
  });
});
