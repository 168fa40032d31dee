// Errors as careless vendors tell them where an answer should be: empty ones beside it, and those that are all there is.

import { describe, expect, test } from "bun:test";
import { createServer } from "node:net";
import { openTestGateway } from "../support/test-gateway.ts";
import { asEvents, eventStream } from "../support/scripted-vendor.ts";
import { chunk, question, useOddVendor } from "./odd-vendor.ts";

const { vendor, receiptOf, ask, askGemini } = await useOddVendor();

describe("an error without a word in it is none, and the answer around it is paid for", () => {
  const stated = { usage: { input_tokens: 500, output_tokens: 200 }, usage_source: "provider" };
  const inEach = (empty: unknown, more: string) =>
    [
      { choices: [{ index: 0, delta: { content: "Hello" }, finish_reason: null, error: empty }] },
      { choices: [{ index: 0, delta: {}, finish_reason: "stop", error: empty }] },
      { choices: [], usage: { prompt_tokens: 500, completion_tokens: 200, total_tokens: 700 } },
    ]
      .map((members) => chunk({ ...members, error: empty }))
      .join("") + more;

  test.each([[{}], [[]], [""], [false]])("in every chunk, as %j", async (empty) => {
    vendor.answer = () => eventStream(inEach(empty, "data: [DONE]\n\n"));
    for (const path of ["/v1/chat/completions", "/v1/messages"]) {
      const response = await ask(path, { max_tokens: 300 });
      expect(await response.clone().text()).toContain("Hello");
      expect(await receiptOf(response)).toMatchObject({ status: "settled", ...stated });
    }
  });

  test("in a whole answer", async () => {
    const message = { role: "assistant", content: "Hello" };
    const choices = [{ index: 0, message, finish_reason: "stop", error: {} }];
    const usage = { prompt_tokens: 500, completion_tokens: 200, total_tokens: 700 };
    vendor.answer = () => Response.json({ id: "c", choices, usage, error: {} });
    for (const path of ["/v1/chat/completions", "/v1/messages"]) {
      const response = await ask(path, { max_tokens: 300, stream: false });
      expect([response.status, await response.clone().text()]).toMatchObject([
        200,
        expect.stringContaining("Hello"),
      ]);
      expect(await receiptOf(response)).toMatchObject({ status: "settled", ...stated });
    }
  });

  test("in every event of a response", async () => {
    const usage = { input_tokens: 500, output_tokens: 200, total_tokens: 700 };
    const events = [
      { type: "response.output_text.delta", delta: "Hello" },
      { type: "response.completed", response: { model: "gpt-4o-mini", usage, output: [] } },
    ];
    vendor.answer = () => eventStream(asEvents(events.map((each) => ({ ...each, error: {} }))));
    const response = await ask("/v1/responses", { messages: undefined, input: "hello" });
    expect(await receiptOf(response)).toMatchObject({ status: "settled", ...stated });
  });

  test("in every chunk of Google's", async () => {
    const part = (text: string, more: object) => ({
      candidates: [{ content: { role: "model", parts: [{ text }] }, ...more }],
      usageMetadata: { promptTokenCount: 500, candidatesTokenCount: 200, totalTokenCount: 700 },
      error: {},
    });
    const events = [part("Hel", {}), part("lo", { finishReason: "STOP" })];
    vendor.answer = () => eventStream(asEvents(events));
    const response = await askGemini({ contents: [{ parts: [{ text: "hello" }] }] });
    expect(await receiptOf(response)).toMatchObject({ status: "settled", ...stated });
  });
});

describe("an error that is all of a stream", () => {
  const told = (message: string): string =>
    `data: ${JSON.stringify({ error: { type: "invalid_request_error", message } })}`;
  const long = "no ".repeat(40_000);

  for (const [name, body, type] of [
    ["without a line end", told("no"), "text/event-stream"],
    ["without a blank line", `${told("no")}\n`, "text/event-stream"],
    ["without a line end, as plain text", told("no"), "text/plain"],
    ["of a length beyond measure, as plain text", `${told(long)}\n\n`, "text/plain"],
  ] as const) {
    test(`is told by its status, and costs nothing: ${name}`, async () => {
      vendor.answer = () => new Response(body, { headers: { "content-type": type } });
      const response = await ask();
      expect([response.status, await response.clone().json()]).toMatchObject([
        400,
        { error: { type: "invalid_request_error" } },
      ]);
      expect(await receiptOf(response)).toMatchObject({ outcome: "failed", charged_micros_usd: 0 });
    });
  }

  test("is told by its status where the end of the connection ends it", async () => {
    const head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    const server = createServer((socket) => {
      socket.once("data", () => socket.end(head + told("no")));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("It listens nowhere.");
    const other = await openTestGateway({
      config: `
sandbox: off
upstreams:
  openai: { protocol: openai, url: "http://127.0.0.1:${address.port}", key: "sk-operator-openai-000000000000" }
models:
  gpt-4o-mini: { via: [openai] }
`,
    });
    const caller = await other.openAccount();
    const response = await other.post(caller, "/v1/chat/completions", question);
    expect([response.status, await response.json()]).toMatchObject([400, { error: { message: "no" } }]);
    expect(await other.receipt(caller, response)).toMatchObject({ charged_micros_usd: 0 });
    await other.close();
    server.close();
  });
});
