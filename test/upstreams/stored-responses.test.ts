// A response that goes on with what OpenAI keeps for the account alone that was asked before, where a model has several.

import { describe, expect, test } from "bun:test";
import { useRoutedCalls } from "./routed-calls.ts";
import { error, json } from "./two-upstreams.ts";

const { model, gateway } = await useRoutedCalls();

const asked = { model: "gpt-x", input: "And then?", max_output_tokens: 100, previous_response_id: "resp_1" };
const refusal = (status: number, code: string | null, message = "No.") => ({
  status,
  headers: json,
  body: JSON.stringify({ error: { message, type: "invalid_request_error", param: "input", code } }),
});
const notFound = refusal(400, "previous_response_not_found");

describe("what one upstream does not keep", () => {
  test.each([
    ["a response", notFound],
    ["thoughts that it cannot decrypt", refusal(400, "invalid_encrypted_content")],
    ["an item", refusal(404, null, "Item with id 'msg_1' not found.")],
    ["a conversation", refusal(404, null, "Conversation with id 'conv_1' not found.")],
  ])("is asked of the next, whole and streamed: %s", async (_what, answer) => {
    for (const stream of [false, true]) {
      const account = await gateway.openAccount({ creditUsd: "20" });
      model.a.answerNext(answer);
      const response = await gateway.post(account, "/v1/responses", { ...asked, stream });
      await response.text();
      expect(response.status).toBe(200);
      expect((await gateway.receipt(account, response)).attempts).toMatchObject([
        { upstream: "oa-a", status: answer.status },
        { upstream: "oa-b", status: 200 },
      ]);
    }
  });

  test("is told to the caller as it came where no other keeps it, free of charge", async () => {
    const account = await gateway.openAccount({ creditUsd: "20" });
    for (const double of [model.a, model.b]) double.answerNext(notFound);
    const response = await gateway.post(account, "/v1/responses", asked);
    expect([response.status, await response.text()]).toEqual([400, notFound.body]);
    expect(await gateway.balance(account)).toEqual({ balance: 20_000_000, held: 0 });
  });

  test("is not said to be nowhere while the other, which may keep it, is busy", async () => {
    const account = await gateway.openAccount({ creditUsd: "20" });
    model.a.answerNext(notFound);
    model.b.answerNext(error(429, { "Retry-After": "7" }));
    const response = await gateway.post(account, "/v1/responses", asked);
    expect([response.status, response.headers.get("retry-after")]).toEqual([429, "7"]);
  });

  test("is told apart from whatever else is wrong with the call, which is asked of nobody else", async () => {
    const account = await gateway.openAccount({ creditUsd: "20" });
    const before = model.b.requests.length;
    for (const answer of [refusal(400, "invalid_value"), refusal(422, null)]) {
      model.a.answerNext(answer);
      const response = await gateway.post(account, "/v1/responses", asked);
      expect([response.status, await response.text()]).toEqual([answer.status, answer.body]);
    }
    expect(model.b.requests).toHaveLength(before);
  });
});
