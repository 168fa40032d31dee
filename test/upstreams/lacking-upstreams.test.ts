// What one of several upstreams lacks and another may have: a model that the first does not have, or not under this name, or
// not at this address; and what a response goes on with, which OpenAI keeps for the account alone that was asked before.

import { expect, test } from "bun:test";
import { chat } from "../support/purchases.ts";
import { useRoutedCalls } from "./routed-calls.ts";
import { error, json } from "./two-upstreams.ts";

const { model, gateway } = await useRoutedCalls();

const refusal = (status: number, code: string | null, message = "No.") => ({
  status,
  headers: json,
  body: JSON.stringify({ error: { message, type: "invalid_request_error", param: "input", code } }),
});
const noModel = refusal(404, "model_not_found", "The model `gpt-x` does not exist.");
const notKept = refusal(400, "previous_response_not_found");

const response = { model: "gpt-x", input: "And then?", max_output_tokens: 100 };
const goesOn = { ...response, previous_response_id: "resp_1" };

test.each([
  ["/v1/chat/completions", chat],
  ["/v1/messages", chat],
  ["/v1/responses", response],
])("a model is asked of the next, whole and streamed, and the call charged once: %s", async (path, body) => {
  for (const stream of [false, true]) await expectNextAsked(noModel, path, { ...body, stream });
});

// Nothing was drawn, so even what must not be done twice may be asked for again.
test.each([
  ["/v1/embeddings", { model: "embed-x", input: "What is meant" }],
  ["/v1/images/generations", { model: "draw-x", prompt: "A gate", quality: "low", size: "1024x1024" }],
])("a model is asked of the next, and the call charged once: %s", async (path, body) => {
  await expectNextAsked(noModel, path, body);
});

test.each([
  ["a response", notKept],
  ["thoughts that it cannot decrypt", refusal(400, "invalid_encrypted_content")],
  ["an item", refusal(404, null, "Item with id 'msg_1' not found.")],
  ["a conversation", refusal(404, null, "Conversation with id 'conv_1' not found.")],
])("what is kept is asked of the next, whole and streamed: %s", async (_what, answer) => {
  for (const stream of [false, true]) await expectNextAsked(answer, "/v1/responses", { ...goesOn, stream });
});

async function expectNextAsked(
  answer: typeof noModel,
  path: string,
  body: Readonly<Record<string, unknown>>,
): Promise<void> {
  const account = await gateway.openAccount({ creditUsd: "20" });
  model.a.answerNext(answer);
  const answered = await gateway.post(account, path, body);
  await answered.text();
  expect([path, answered.status]).toEqual([path, 200]);
  expect(await gateway.receipt(account, answered)).toMatchObject({
    outcome: "succeeded",
    attempts: [
      { upstream: "oa-a", outcome: "answered", status: answer.status },
      { upstream: "oa-b", status: 200 },
    ],
  });
}

const lacking = [
  ["a model", "/v1/chat/completions", chat, noModel],
  ["what is kept", "/v1/responses", goesOn, notKept],
] as const;

test.each(lacking)(
  "%s is told to the caller as the last of them said it where none has it, free of charge",
  async (_what, path, body, answer) => {
    const account = await gateway.openAccount({ creditUsd: "20" });
    for (const double of [model.a, model.b]) double.answerNext(answer);
    const answered = await gateway.post(account, path, body);
    expect([answered.status, await answered.text()]).toEqual([answer.status, answer.body]);
    expect(await gateway.balance(account)).toEqual({ balance: 20_000_000, held: 0 });
  },
);

test.each(lacking)(
  "%s is not said to be nowhere while the other, which may have it, is busy",
  async (_what, path, body, answer) => {
    const account = await gateway.openAccount({ creditUsd: "20" });
    model.a.answerNext(answer);
    model.b.answerNext(error(429, { "Retry-After": "7" }));
    const answered = await gateway.post(account, path, body);
    expect([answered.status, answered.headers.get("retry-after")]).toEqual([429, "7"]);
  },
);

test("whatever else is wrong with the call is asked of nobody else", async () => {
  const account = await gateway.openAccount({ creditUsd: "20" });
  const before = model.b.requests.length;
  for (const answer of [refusal(400, "invalid_value"), refusal(422, null)]) {
    model.a.answerNext(answer);
    const answered = await gateway.post(account, "/v1/responses", goesOn);
    expect([answered.status, await answered.text()]).toEqual([answer.status, answer.body]);
  }
  expect(model.b.requests).toHaveLength(before);
});
