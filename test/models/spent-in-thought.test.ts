// OpenAI's thinking models refuse what other vendors answer: a limit that is used up before the first word.

import { afterAll, describe, expect, test } from "bun:test";
import { openOnlyModel } from "./only-model.ts";

const model = "gpt-5.2";
const { vendor, gateway, close } = await openOnlyModel(model);
afterAll(async () => {
  expect(await gateway.audit()).toEqual([]);
  await close();
});

const refusal = {
  error: {
    message:
      "Could not finish the message because max_tokens or model output limit was reached. Please try again with higher max_tokens.",
    type: "invalid_request_error",
    param: null,
    code: null,
  },
};

const ask = async (path: string, body: object, error: object = refusal) => {
  vendor.answerNext({
    status: 400,
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(error),
  });
  const account = await gateway.openAccount();
  const response = await gateway.post(account, path, body);
  const text = await response.text();
  const listed = await gateway.call(account, "/v1/requests?limit=1");
  const { data } = (await listed.json()) as { data: readonly { charged_micros_usd: number }[] };
  return { status: response.status, text, charged: data[0]?.charged_micros_usd };
};

const messages = [{ role: "user", content: "hello" }];

describe("a limit that is used up in thought", () => {
  test("is an answer without a word to Claude's agents, who try a model so before they take it", async () => {
    const { status, text, charged } = await ask("/v1/messages", { model, max_tokens: 1, messages });
    expect([status, JSON.parse(text)]).toMatchObject([
      200,
      { type: "message", content: [], stop_reason: "max_tokens" },
    ]);
    expect(charged).toBe(0);
  });

  test("is one in a stream, too", async () => {
    const { status, text, charged } = await ask("/v1/messages", {
      model,
      max_tokens: 1,
      messages,
      stream: true,
    });
    expect(status).toBe(200);
    expect(text.match(/(?<=^event: ).*$/gm)).toEqual(["message_start", "message_delta", "message_stop"]);
    expect(text).toContain('"stop_reason":"max_tokens"');
    expect(charged).toBe(0);
  });

  test("is one to callers of Gemini's", async () => {
    const { status, text } = await ask(`/v1beta/models/${model}:generateContent`, {
      contents: "hello",
      generationConfig: { maxOutputTokens: 1 },
    });
    expect([status, JSON.parse(text)]).toMatchObject([
      200,
      { candidates: [{ content: { parts: [] }, finishReason: "MAX_TOKENS" }] },
    ]);
  });

  test("stays OpenAI's error to callers of OpenAI's", async () => {
    const { status, text } = await ask("/v1/chat/completions", { model, max_tokens: 1, messages });
    expect([status, JSON.parse(text)]).toEqual([400, refusal]);
  });
});

test("any other error is told as one", async () => {
  const other = { error: { ...refusal.error, message: "You could not finish the message." } };
  const { status, text } = await ask("/v1/messages", { model, max_tokens: 1, messages }, other);
  expect([status, JSON.parse(text)]).toMatchObject([
    400,
    { type: "error", error: { message: other.error.message } },
  ]);
});
