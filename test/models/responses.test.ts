import { afterAll, describe, expect, test } from "bun:test";
import { last } from "../doubles/vendor-double.ts";
import { json } from "../support/answers.ts";
import { keys, openModelGateway, sentTo, type OpenAiError } from "../support/model-gateway.ts";

const { gateway, openai, metered, receiptOf, quoteOf, close } = await openModelGateway();
afterAll(close);

const responsesPath = "/v1/responses";

describe("responses", () => {
  const body = { model: "gpt-4o", input: "Say it.", max_output_tokens: 64 };

  test("pass to the byte, with what only OpenAI understands, and cost the vendor's disjoint tokens", async () => {
    const account = await gateway.openAccount();
    const asked = JSON.stringify({
      ...body,
      metadata: { big: "12345678901234567890" },
      tools: [{ type: "function", name: "look", parameters: { type: "object" }, strict: true }],
      store: true,
    });
    const used = { input: 100, cacheRead: 60, cacheWrite: 20, output: 7 };
    const response = await metered(used, () => gateway.post(account, responsesPath, asked));
    expect(response.status).toBe(200);
    expect(await json<object>(response)).toMatchObject({ object: "response", status: "completed" });
    expect(new TextDecoder().decode(last(openai).body)).toBe(asked);
    expect(await receiptOf(account, response)).toMatchObject({
      operation_id: "responses.create",
      usage: { input_tokens: 100, cache_read_tokens: 60, cache_write_tokens: 20, output_tokens: 7 },
      usage_source: "provider",
    });
  });

  test("get the limit their hold was computed from, when they come without one", async () => {
    const account = await gateway.openAccount();
    await gateway.post(account, responsesPath, {
      model: "gpt-4o",
      input: "a",
      previous_response_id: "resp_1",
    });
    expect(sentTo(openai)).toEqual({
      model: "gpt-4o",
      input: "a",
      previous_response_id: "resp_1",
      max_output_tokens: 16_384,
    });
  });

  test("hold a token a byte; where context lies elsewhere, all that the model can read", async () => {
    const account = await gateway.openAccount();
    const plain = await quoteOf(account, responsesPath, body);
    const bytes = Buffer.byteLength(JSON.stringify(body));
    expect(plain.max_cost_micros_usd).toBe(Math.ceil(bytes * 2.5 + 64 * 10));
    const image = (url: string) => [
      { role: "user", content: [{ type: "input_image", image_url: url, detail: "auto" }] },
    ];
    for (const more of [
      { previous_response_id: "resp_1" },
      { conversation: "conv_1" },
      { prompt: { id: "pmpt_1" } },
      { tools: [{ type: "web_search" }] },
      { input: [{ role: "user", content: [{ type: "input_image", file_id: "file_1" }] }] },
      { input: [{ type: "item_reference", id: "msg_1" }] },
      { input: [{ role: "user", content: [{ type: "input_file", file_id: "file_1" }] }] },
    ]) {
      const quote = await quoteOf(account, responsesPath, { ...body, ...more });
      expect(quote.max_cost_micros_usd).toBe(128_000 * 2.5 + 64 * 10);
    }
    const inline = { ...body, input: image("data:image/png;base64,AAAA") };
    const text = Buffer.byteLength(JSON.stringify({ ...body, input: image("") }));
    // What is in the body is an image, of which no vendor counts more than this.
    expect((await quoteOf(account, responsesPath, inline)).max_cost_micros_usd).toBe(
      Math.ceil((text + 50_000) * 2.5 + 64 * 10),
    );
  });

  test("in the background are refused, and so is a model that does not converse", async () => {
    const account = await gateway.openAccount();
    const background = await gateway.post(account, responsesPath, { ...body, background: true });
    const { error } = await json<OpenAiError>(background);
    expect([background.status, error.param, error.message]).toEqual([
      400,
      "background",
      "background: responses in the background are not served here",
    ]);
    const other = await gateway.post(account, responsesPath, { ...body, model: "text-embedding-3-small" });
    expect([other.status, (await json<OpenAiError>(other)).error.code]).toEqual([404, "model_not_found"]);
  });

  const withoutComment = (text: string): string => text.replace(/: tollgate .*\n\n$/, "");
  /** Ids count up from call to call; everything else of two equal calls is equal. */
  const withoutIds = (text: string): string => text.replace(/0{6,}\d+/g, "#");

  test("stream to the byte, and end with what they cost", async () => {
    const account = await gateway.openAccount();
    const used = { input: 50, output: 9 };
    const stream = { ...body, stream: true };
    const through = await metered(used, () => gateway.post(account, responsesPath, stream));
    const text = await through.text();
    const direct = await metered(used, () =>
      fetch(`${openai.url}/responses`, {
        method: "POST",
        headers: { authorization: `Bearer ${keys.openai}`, "content-type": "application/json" },
        body: JSON.stringify(stream),
      }),
    );
    expect(withoutIds(withoutComment(text))).toBe(withoutIds(await direct.text()));
    const id = through.headers.get("x-request-id");
    expect(text).toEndWith(`: tollgate {"request_id":"${id}","cost_micros_usd":215}\n\n`);
    expect(await receiptOf(account, through)).toMatchObject({
      status: "settled",
      outcome: "succeeded",
      usage: { input_tokens: 50, output_tokens: 9 },
      usage_source: "provider",
      charged_micros_usd: 215,
    });
  });

  test("that break off are charged for what passed, and say that they broke off", async () => {
    const account = await gateway.openAccount();
    openai.answerNext({ kind: "stream", afterEvents: 6, fault: "reset" });
    const response = await gateway.post(account, responsesPath, { ...body, stream: true });
    const text = await response.text();
    expect(text).toContain('event: error\ndata: {"type":"error","code":"provider_request_failed"');
    const receipt = await receiptOf(account, response);
    expect(receipt.usage_source).not.toBe("provider");
    expect(receipt.charged_micros_usd).toBeLessThanOrEqual(receipt.held_micros_usd);
    expect(await gateway.balance(account)).toMatchObject({ held: 0 });
  });

  test("that the gateway ends are ended by an event that counts on from the last that passed", async () => {
    const account = await gateway.openAccount();
    const event = (type: string, number: number, rest: object): string =>
      `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: number, ...rest })}\n\n`;
    const delta = (number: number, said: string): string =>
      event("response.output_text.delta", number, { output_index: 0, delta: said });
    const begun = delta(7, "Well") + delta(8, ", well");
    const refusal = { error: { code: "invalid_api_key", message: "Incorrect API key provided: sk-secret." } };
    for (const [told, code] of [
      [begun, "provider_request_failed"],
      [begun + event("error", 9, refusal), "provider_unavailable"],
    ] as const) {
      const headers = { "Content-Type": "text/event-stream" };
      openai.answerNext({ status: 200, headers, body: told });
      const response = await gateway.post(account, responsesPath, { ...body, stream: true });
      const shown = withoutComment(await response.text());
      expect(shown).toStartWith(begun);
      const said = JSON.parse(shown.slice(begun.length).replace("event: error\ndata: ", "")) as object;
      const error = { code, message: expect.any(String) as unknown, param: null };
      expect(said).toEqual({
        type: "error",
        sequence_number: 9,
        ...error,
        error: { type: "server_error", ...error },
      });
    }
  });

  test("that fail or are incomplete are metered by what their last event says", async () => {
    const account = await gateway.openAccount();
    const end = (type: string, usage: object | null) => {
      const response = { id: "resp_1", object: "response", status: type.slice(9), usage };
      return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: 1, response })}\n\n`;
    };
    const usage = { input_tokens: 40, output_tokens: 3, total_tokens: 43 };
    const before = 'data: {"type":"response.output_text.delta","delta":"Well"}\n\n';
    for (const [type, stated, expected] of [
      ["response.failed", usage, { input_tokens: 40, output_tokens: 3 }],
      ["response.incomplete", usage, { input_tokens: 40, output_tokens: 3 }],
    ] as const) {
      const headers = { "Content-Type": "text/event-stream" };
      openai.answerNext({ status: 200, headers, body: before + end(type, stated) });
      const response = await gateway.post(account, responsesPath, { ...body, stream: true });
      expect(withoutComment(await response.text())).toBe(before + end(type, stated));
      const receipt = await receiptOf(account, response);
      expect(receipt.usage).toEqual(expected);
      expect(receipt.outcome).toBe(type === "response.failed" ? "failed" : "succeeded");
    }
  });

  test("that fail after items that came at once are charged, streamed as whole", async () => {
    const usage = { input_tokens: 40, output_tokens: 3, total_tokens: 43 };
    const event = (type: string, rest: object): string =>
      `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`;
    for (const item of [
      { id: "cu_1", type: "computer_call", call_id: "c1", status: "completed", action: { type: "wait" } },
      { id: "fc_1", type: "function_call", call_id: "c1", name: "pay", arguments: "{}", status: "completed" },
      { id: "rs_1", type: "reasoning", summary: [], encrypted_content: "gAAAA" },
    ]) {
      const failed = {
        id: "resp_1",
        object: "response",
        model: "gpt-4o",
        status: "failed",
        error: { code: "server_error", message: "no" },
        output: [item],
        usage,
      };
      const created = event("response.created", { response: { id: "resp_1", status: "in_progress" } });
      const done = event("response.output_item.done", { output_index: 0, item });
      const ended = event("response.failed", { response: failed });
      const silent = event("response.failed", { response: { ...failed, output: [] } });
      for (const [type, told] of [
        ["application/json", JSON.stringify(failed)],
        ["text/event-stream", created + done + ended],
        ["text/event-stream", created + done + silent],
        ["text/event-stream", created + ended],
      ] as const) {
        const account = await gateway.openAccount();
        openai.answerNext({ status: 200, headers: { "Content-Type": type }, body: told });
        const stream = type === "text/event-stream";
        const response = await gateway.post(account, responsesPath, { ...body, stream });
        await response.text();
        expect(await receiptOf(account, response)).toMatchObject({
          outcome: "failed",
          usage: { input_tokens: 40, output_tokens: 3 },
          usage_source: "provider",
          charged_micros_usd: 130,
        });
      }
    }
  });

  test("keep the vendor's own error, streamed or not, and cost nothing then", async () => {
    const account = await gateway.openAccount();
    const error = '{"error":{"message":"no","type":"invalid_request_error","param":"input","code":"bad"}}';
    for (const stream of [false, true]) {
      openai.answerNext({ status: 400, headers: { "Content-Type": "application/json" }, body: error });
      const response = await gateway.post(account, responsesPath, { ...body, stream });
      expect([response.status, await response.text()]).toEqual([400, error]);
    }
    expect(await gateway.balance(account)).toEqual({ balance: 2_000_000, held: 0 });
  });
});
