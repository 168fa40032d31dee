// Mistral's models think among the parts of what they say. That is shown to who asks for it, and paid for like any output.

import { describe, expect, test } from "bun:test";
import { asEvents, eventStream, useScriptedVendor } from "../support/scripted-vendor.ts";

const { vendor, gateway, account, receiptOf } = await useScriptedVendor(
  (url) => `
upstreams:
  mistral: { protocol: openai, url: "${url}", key: sk-key-000000, models: [] }
models:
  mistral-small-latest: { via: [mistral], price: { input: 1, output: 2 }, max_output_tokens: 9000 }
sandbox: off
`,
);

const model = "mistral-small-latest";
const thought = (text: string) => ({ type: "thinking", thinking: [{ type: "text", text }] });
const content = [thought("Let me think."), { type: "text", text: "Paris" }];
const told = { id: "c", object: "chat.completion", created: 1, model };
const usage = { prompt_tokens: 9, completion_tokens: 20, total_tokens: 29 };
const piece = (delta: object, finish_reason: string | null = null) => ({
  ...told,
  choices: [{ index: 0, delta, finish_reason }],
});

const question = "The capital of France?";
const thoughtful = {
  claudes: {
    path: "/v1/messages",
    body: {
      model,
      max_tokens: 8000,
      messages: [{ role: "user", content: question }],
      thinking: { type: "adaptive", display: "summarized" },
    },
  },
  geminis: {
    path: `/v1beta/models/${model}`,
    body: {
      contents: [{ role: "user", parts: [{ text: question }] }],
      generationConfig: { maxOutputTokens: 8000, thinkingConfig: { includeThoughts: true } },
    },
  },
};

describe("a thought among words is shown to who asks for thoughts", () => {
  const { claudes, geminis } = thoughtful;

  test("in a whole answer", async () => {
    const message = { role: "assistant", content };
    vendor.answer = () =>
      Response.json({ ...told, choices: [{ index: 0, message, finish_reason: "stop" }], usage });
    const messages = await gateway.post(account, claudes.path, claudes.body);
    expect(await messages.json()).toMatchObject({
      content: [
        { type: "thinking", thinking: "Let me think." },
        { type: "text", text: "Paris" },
      ],
    });
    const generated = await gateway.post(account, `${geminis.path}:generateContent`, geminis.body);
    expect(await generated.json()).toMatchObject({
      candidates: [{ content: { parts: [{ text: "Let me think.", thought: true }, { text: "Paris" }] } }],
    });
  });

  test("and in a stream", async () => {
    const chunks = [piece({ content: content.slice(0, 1) }), piece({ content: "Paris" }, "stop")];
    vendor.answer = () =>
      eventStream(`${asEvents([...chunks, { ...told, choices: [], usage }])}data: [DONE]\n\n`);
    const messages = await gateway.post(account, claudes.path, { ...claudes.body, stream: true });
    expect(await messages.text()).toContain('"thinking_delta","thinking":"Let me think."');
    const path = `${geminis.path}:streamGenerateContent?alt=sse`;
    const generated = await gateway.post(account, path, geminis.body);
    expect(await generated.text()).toMatch(
      /"text":"Let me think\.","thought":true|"thought":true,"text":"Let/,
    );
  });
});

test("a stream that breaks off among thoughts is paid for by what was thought", async () => {
  const thoughts = Array.from({ length: 100 }, () =>
    piece({ content: [thought("forty letters of a thought, and a bit.. ")] }),
  );
  vendor.answer = () => eventStream(asEvents(thoughts));
  for (const path of ["/v1/chat/completions", "/v1/messages"]) {
    const response = await gateway.post(account, path, {
      ...thoughtful.claudes.body,
      thinking: undefined,
      stream: true,
    });
    expect(await receiptOf(response)).toMatchObject({
      usage_source: "estimated",
      usage: { output_tokens: 1_000 },
    });
  }
});
