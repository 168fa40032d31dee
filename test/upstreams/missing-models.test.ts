// A model that one of its upstreams does not have, or not under this name, or not at this address.

import { expect, test } from "bun:test";
import { chat } from "../support/purchases.ts";
import { useRoutedCalls } from "./routed-calls.ts";
import { error, json } from "./two-upstreams.ts";

const { model, gateway } = await useRoutedCalls();

const missing = {
  status: 404,
  headers: json,
  body: '{"error":{"message":"The model `gpt-x` does not exist.","code":"model_not_found"}}',
};
const response = { model: "gpt-x", input: "Say it", max_output_tokens: 100 };

test.each([
  ["/v1/chat/completions", chat],
  ["/v1/chat/completions", { ...chat, stream: true }],
  ["/v1/messages", chat],
  ["/v1/messages", { ...chat, stream: true }],
  ["/v1/responses", response],
  ["/v1/embeddings", { model: "embed-x", input: "What is meant" }],
  // Nothing was drawn, so even what must not be done twice may be asked for again.
  ["/v1/images/generations", { model: "draw-x", prompt: "A gate", quality: "low", size: "1024x1024" }],
])("is asked of the next, and the call charged once: %s %j", async (path, body) => {
  const account = await gateway.openAccount();
  model.a.answerNext(missing);
  const answer = await gateway.post(account, path, body);
  await answer.text();
  expect(answer.status).toBe(200);
  expect(await gateway.receipt(account, answer)).toMatchObject({
    outcome: "succeeded",
    attempts: [
      { upstream: "oa-a", outcome: "answered", status: 404 },
      { upstream: "oa-b", status: 200 },
    ],
  });
});

test("is told to the caller as the last of them said it where none has it, free of charge", async () => {
  const account = await gateway.openAccount({ creditUsd: "20" });
  for (const double of [model.a, model.b]) double.answerNext(missing);
  const answer = await gateway.post(account, "/v1/chat/completions", chat);
  expect([answer.status, await answer.text()]).toEqual([404, missing.body]);
  expect(await gateway.balance(account)).toEqual({ balance: 20_000_000, held: 0 });
});

test("is not said to be nowhere while the other, which may have it, is busy", async () => {
  const account = await gateway.openAccount({ creditUsd: "20" });
  model.a.answerNext(missing);
  model.b.answerNext(error(429, { "Retry-After": "7" }));
  const answer = await gateway.post(account, "/v1/chat/completions", chat);
  expect([answer.status, answer.headers.get("retry-after")]).toEqual([429, "7"]);
});
