// Who asks for thinking in one dialect is answered by models of another vendor that cannot think, or not that much.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { openModelGateway, sentTo, type ModelGateway } from "../support/model-gateway.ts";

let models: ModelGateway;

beforeAll(async () => {
  models = await openModelGateway();
});

afterAll(() => models.close());

test("Claude's agents, who always ask for thinking, work with a model that cannot", async () => {
  const account = await models.gateway.openAccount();
  const request = { model: "gpt-4o", max_tokens: 4000, messages: [{ role: "user", content: "Hello." }] };
  for (const thinking of [
    { thinking: { type: "enabled", budget_tokens: 2000 } },
    { thinking: { type: "adaptive" }, output_config: { effort: "max" } },
    { thinking: { type: "disabled" } },
  ]) {
    const response = await models.gateway.post(account, "/v1/messages", { ...request, ...thinking });
    expect(response.status).toBe(200);
    expect(sentTo(models.openai)).not.toHaveProperty("reasoning_effort");
  }
});

test("so they do with a model of the operator's own that cannot", async () => {
  const account = await models.gateway.openAccount();
  const response = await models.gateway.post(account, "/v1/messages", {
    model: "llama:8b",
    max_tokens: 4000,
    messages: [{ role: "user", content: "Hello." }],
    thinking: { type: "adaptive" },
    output_config: { effort: "medium" },
  });
  expect(response.status).toBe(200);
  expect(sentTo(models.openai)).not.toHaveProperty("reasoning_effort");
});
