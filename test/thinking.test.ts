// What callers of one dialect say of thinking, to the models of other vendors that know it otherwise.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { openOpenAiDouble } from "./doubles/openai.ts";
import type { ModelDouble } from "./doubles/model-book.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "./harness.ts";
import { keys, sentTo } from "./model-gateway.ts";

const openaiModels = ["gpt-5.4", "gpt-5.5", "gpt-5.6-terra", "gpt-6-astra"];

let openai: ModelDouble;
let gateway: TestGateway;
let account: TestAccount;

beforeAll(async () => {
  openai = await openOpenAiDouble({ key: keys.openai, models: openaiModels, reply: "Paris" });
  const priced = (upstream: string, models: readonly string[]): string =>
    models.map((model) => `  ${model}: { via: [${upstream}], price: { input: 1, output: 2 } }\n`).join("");
  gateway = await openTestGateway({
    config: `
upstreams:
  openai: { protocol: openai, url: "${openai.url}", key: "${keys.openai}" }
models:
${priced("openai", openaiModels)}`,
  });
  account = await gateway.openAccount();
});

afterAll(async () => {
  expect(await gateway.audit()).toEqual([]);
  for (const double of [openai]) expect(double.violations).toEqual([]);
  await gateway.close();
  await openai.close();
});

const message = { max_tokens: 4000, messages: [{ role: "user", content: "The capital of France?" }] };

describe("Claude's agents, who always bring tools and ask for thinking,", () => {
  const agent = { ...message, tools: [{ name: "look_up", input_schema: { type: "object" } }] };

  test.each(["gpt-5.4", "gpt-5.5", "gpt-5.6-terra"])("are answered by %s", async (model) => {
    for (const thinking of [
      { thinking: { type: "adaptive" }, output_config: { effort: "high" } },
      { thinking: { type: "enabled", budget_tokens: 2000 } },
      { thinking: { type: "disabled" } },
      {},
    ]) {
      const response = await gateway.post(account, "/v1/messages", { model, ...agent, ...thinking });
      expect(response.status).toBe(200);
    }
  });

  test("are told that a model calls tools elsewhere only, and nothing is sent", async () => {
    const sent = openai.requests.length;
    const response = await gateway.post(account, "/v1/messages", { model: "gpt-6-astra", ...agent });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain("/v1/responses");
    expect(openai.requests).toHaveLength(sent);
  });

  test("have GPT-5.6 think where they bring none", async () => {
    const asked = { thinking: { type: "adaptive" }, output_config: { effort: "high" } };
    await gateway.post(account, "/v1/messages", { model: "gpt-5.6-terra", ...message, ...asked });
    expect(sentTo(openai)["reasoning_effort"]).toBe("high");
  });
});
