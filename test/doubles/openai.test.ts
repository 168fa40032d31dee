// The OpenAI double, as its vendor describes it.

import { describe, expect, test } from "bun:test";

import { createKeeper, dataOf, get, post } from "./exchange.ts";
import { openOpenAiDouble } from "./openai.ts";
import { sendRaw } from "./raw-http.ts";
import { omitted } from "./vendor-checks.ts";

const keep = createKeeper();

describe("openai", () => {
  const chat = { model: "gpt-x", messages: [{ role: "user", content: "hi" }] };

  test("answers a completion with usage, and books what it stated", async () => {
    const usage = {
      prompt_tokens: 100,
      completion_tokens: 7,
      total_tokens: 107,
      prompt_tokens_details: { cached_tokens: 60 },
    };
    const vendor = await keep(openOpenAiDouble({ key: "k-1", usage, reply: "one two three" }));
    const answer = await post(`${vendor.url}/chat/completions`, { ...chat, max_tokens: 2 });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({
      object: "chat.completion",
      model: "gpt-x",
      choices: [{ index: 0, message: { role: "assistant", content: "one two" }, finish_reason: "length" }],
      usage,
    });
    expect(vendor.book).toHaveLength(1);
    expect(vendor.book[0]).toMatchObject({
      requestId: answer.headers.get("x-request-id"),
      billed: { model: "gpt-x", usage },
    });
  });

  test("usage can be a function, a lie, or left out", async () => {
    const lies = [-1, "12", 1e30, null];
    const vendor = await keep(
      openOpenAiDouble({
        key: "k-1",
        usage: ({ seed }) => (seed === 9 ? omitted : { total_tokens: lies[Number(seed)] ?? null }),
      }),
    );
    for (const [seed, lie] of lies.entries()) {
      const answer = await post(`${vendor.url}/chat/completions`, { ...chat, seed });
      expect(await answer.json()).toHaveProperty("usage", { total_tokens: lie });
    }
    const answer = await post(`${vendor.url}/chat/completions`, { ...chat, seed: 9 });
    expect(await answer.json()).not.toHaveProperty("usage");
    expect(vendor.book.at(-1)?.billed.usage).toHaveProperty("prompt_tokens_details.cached_tokens", 0);
  });

  test("streams, with the extra usage chunk only when asked", async () => {
    const vendor = await keep(openOpenAiDouble({ key: "k-1", reply: "one two" }));
    const plain = await post(`${vendor.url}/chat/completions`, { ...chat, stream: true });
    expect(plain.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    const plainText = await plain.text();
    expect(plainText).not.toContain("usage");
    expect(plainText).toEndWith("data: [DONE]\n\n");

    const asked = await post(`${vendor.url}/chat/completions`, {
      ...chat,
      stream: true,
      stream_options: { include_usage: true },
    });
    const events = (await asked.text()).split("\n\n").filter((event) => event !== "");
    expect(events.at(-1)).toBe("data: [DONE]");
    const last: unknown = JSON.parse(events.at(-2)?.slice("data: ".length) ?? "");
    expect(last).toMatchObject({
      object: "chat.completion.chunk",
      choices: [],
      usage: { completion_tokens: 2 },
    });
    expect(events.slice(0, -2).every((event) => event.includes('"usage":null'))).toBe(true);
  });

  test("refuses as OpenAI does, and bills nothing", async () => {
    const vendor = await keep(openOpenAiDouble({ key: "k-1" }));
    const url = `${vendor.url}/chat/completions`;
    const refused = async (answer: Promise<Response>, status: number, error: object): Promise<void> => {
      const { status: actual, ...rest } = await answer.then(async (got) => ({
        status: got.status,
        body: (await got.json()) as unknown,
      }));
      expect(actual).toBe(status);
      expect(rest.body).toMatchObject({ error: { type: "invalid_request_error", ...error } });
    };
    await refused(post(url, chat, { Authorization: "Bearer other" }), 401, { code: "invalid_api_key" });
    await refused(post(url, chat, { "x-api-key": "k-1" }), 401, { code: null });
    await refused(post(url, { ...chat, api_base: "http://evil" }), 400, {
      code: "unknown_parameter",
      param: "api_base",
    });
    await refused(post(url, { ...chat, max_tokens: "5" }), 400, { param: "max_tokens" });
    await refused(post(url, { ...chat, stream_options: {} }), 400, { param: "stream_options" });
    await refused(post(url, { ...chat, messages: [] }), 400, { param: "messages" });
    const schema = {
      type: "object",
      properties: { default: { type: "string", minLength: 1 } },
      required: ["default"],
      additionalProperties: false,
    };
    const json_schema = { name: "n", schema, strict: true };
    await refused(post(url, { ...chat, response_format: { type: "json_schema", json_schema } }), 400, {
      message: "Invalid schema: 'minLength' is not permitted.",
    });
    for (const [member, why] of [
      [{ $ref: "#", description: "a" }, "$ref cannot have keywords"],
      [{ anyOf: [{ const: "a" }] }, "schema must have a 'type' key"],
    ] as const) {
      const odd = { ...json_schema, schema: { ...schema, properties: { default: member } } };
      const response_format = { type: "json_schema", json_schema: odd };
      await refused(post(url, { ...chat, response_format }), 400, {
        message: `Invalid schema: ${why}.`,
      });
    }
    const texts = [{ role: "user", content: [{ type: "text", text: "a" }] }];
    await refused(post(url, { ...chat, model: "deepseek-x", messages: texts }), 400, { code: null });
    await refused(post(url, { ...chat, model: "gpt-y" }), 404, { code: "model_not_found" });
    await refused(post(url, chat, { Authorization: "Bearer k-1", "Content-Type": "text/plain" }), 400, {});
    await refused(post(`${vendor.url}/v1/chat/completions`, chat), 404, { code: "unknown_url" });
    expect(vendor.book).toEqual([]);

    const twice = `POST /v1/chat/completions HTTP/1.1\r\nHost: v\r\nAuthorization: Bearer k-1\r\nAuthorization: Bearer k-1\r\nContent-Length: 2\r\n\r\n{}`;
    expect((await sendRaw(vendor.port, twice, { expectResponses: 1 })).responses[0]?.status).toBe(401);
  });

  test("lists its models, free", async () => {
    const vendor = await keep(openOpenAiDouble({ key: "k-1", models: ["a", "b"] }));
    const list: unknown = await (await get(`${vendor.url}/models`)).json();
    expect(list).toMatchObject({ object: "list", data: [{ id: "a", object: "model" }, { id: "b" }] });
    expect((await get(`${vendor.url}/models`, {})).status).toBe(401);
    expect(vendor.book).toEqual([]);
  });

  test("streams parallel calls in fragments, in order or taking turns", async () => {
    const toolCalls = [
      { id: "call_1", name: "weather", arguments: '{"city":"Zürich"}' },
      { id: "call_2", name: "time", arguments: "{not json" },
    ];
    for (const interleaved of [false, true]) {
      const vendor = await keep(
        openOpenAiDouble({ key: "k-1", reply: { toolCalls, pieces: 4, interleaved } }),
      );
      const body = {
        ...chat,
        stream: true,
        stream_options: { include_usage: true, include_obfuscation: true },
      };
      const events = dataOf(await (await post(`${vendor.url}/chat/completions`, body)).text());
      const built = ["", ""];
      const order: number[] = [];
      for (const event of events) {
        const [choice] = (event as { choices?: { delta: { tool_calls?: unknown } }[] }).choices ?? [];
        for (const call of (choice?.delta.tool_calls ?? []) as {
          index: number;
          function: { arguments: string };
        }[]) {
          built[call.index] += call.function.arguments;
          order.push(call.index);
        }
      }
      expect(built).toEqual(toolCalls.map(({ arguments: text }) => text));
      expect(order.slice(0, 2)).toEqual(interleaved ? [0, 1] : [0, 0]);
      expect(events.at(-3)).toMatchObject({ choices: [{ finish_reason: "tool_calls" }], usage: null });
      expect(events.slice(0, -1).every((event) => "obfuscation" in (event as object))).toBe(true);
    }
  });

  test("a conversation with tools must fit together", async () => {
    const vendor = await keep(openOpenAiDouble({ key: "k-1" }));
    const call = { id: "call_1", type: "function", function: { name: "time", arguments: "{}" } };
    const calling = { role: "assistant", content: null, tool_calls: [call] };
    const told = { role: "tool", tool_call_id: "call_1", content: "noon" };
    const status = async (messages: readonly object[], rest: object = {}): Promise<number> =>
      (await post(`${vendor.url}/chat/completions`, { ...chat, ...rest, messages })).status;
    const hi = { ...chat.messages[0] };
    expect(await status([{ ...hi }, calling, told])).toBe(200);
    expect(await status([{ ...hi }, calling, { role: "user", content: "and?" }])).toBe(400);
    expect(await status([{ ...hi }, told])).toBe(400);
    expect(await status([{ ...hi, cache_control: { type: "ephemeral" } }])).toBe(400);
    // The answers follow their calls directly, and only theirs.
    const other = { role: "assistant", content: null, tool_calls: [{ ...call, id: "call_2" }] };
    const toldOther = { ...told, tool_call_id: "call_2" };
    const both = { ...calling, tool_calls: [call, { ...call, id: "call_2" }] };
    expect(await status([hi, both, toldOther, told, hi])).toBe(200);
    expect(await status([hi, both, told, hi, toldOther])).toBe(400);
    expect(await status([hi, calling, hi, told])).toBe(400);
    expect(await status([hi, calling, other, told, toldOther])).toBe(400);
    expect(await status([hi, calling, told, toldOther])).toBe(400);
    expect(await status([{ ...hi }], { tool_choice: "auto" })).toBe(400);
  });

  test("embeddings: of one, of many, of tokens, as floats or base64", async () => {
    const vendor = await keep(openOpenAiDouble({ key: "k-1" }));
    const url = `${vendor.url}/embeddings`;
    const many = await post(url, { model: "gpt-x", input: ["red fox", "blue whale"], dimensions: 4 });
    expect(await many.json()).toMatchObject({
      object: "list",
      data: [
        {
          object: "embedding",
          index: 0,
          embedding: Array.from({ length: 4 }, () => expect.any(Number) as unknown),
        },
        { object: "embedding", index: 1 },
      ],
      usage: { prompt_tokens: 5, total_tokens: 5 },
    });
    const coded: unknown = await (
      await post(url, { model: "gpt-x", input: [1, 2, 3], encoding_format: "base64" })
    ).json();
    expect(coded).toMatchObject({
      data: [{ embedding: expect.any(String) as unknown }],
      usage: { total_tokens: 3 },
    });
    expect((await post(url, { model: "gpt-x", input: "" })).status).toBe(400);
    expect((await post(url, { model: "gpt-x", input: [] })).status).toBe(400);
    expect((await post(url, { model: "gpt-x", input: "a", top: 1 })).status).toBe(400);
    expect(vendor.book.map(({ billed }) => billed.tokens.input)).toEqual([5, 3]);
  });

  test("images: as many as asked, paid by tokens", async () => {
    const vendor = await keep(openOpenAiDouble({ key: "k-1" }));
    const url = `${vendor.url}/images/generations`;
    const answer = await post(url, { model: "gpt-x", prompt: "a fox", n: 2, size: "1024x1024" });
    expect(await answer.json()).toMatchObject({
      data: [{ b64_json: expect.any(String) as unknown }, { b64_json: expect.any(String) as unknown }],
      usage: { input_tokens: 2, output_tokens: 2112, total_tokens: 2114 },
    });
    expect((await post(url, { model: "gpt-x", prompt: "a fox", n: 11 })).status).toBe(400);
    expect(vendor.book).toHaveLength(1);
    expect(vendor.book[0]?.billed.tokens).toMatchObject({ input: 2, output: 2112 });
  });

  test("responses: whole and streamed say the same, and the last event has the usage", async () => {
    const reply = {
      reasoning: "hmm so",
      text: "one two",
      toolCalls: [{ id: "call_1", name: "time", arguments: "{}" }],
    };
    const vendor = await keep(
      openOpenAiDouble({ key: "k-1", reply, usage: { input: 10, cacheRead: 5, output: 9, reasoning: 2 } }),
    );
    const url = `${vendor.url}/responses`;
    const body = {
      model: "gpt-x",
      instructions: "be brief",
      input: "hi",
      reasoning: { effort: "low", summary: "auto" },
    };
    const whole: unknown = await (await post(url, body)).json();
    expect(whole).toMatchObject({
      object: "response",
      status: "completed",
      output: [
        { type: "reasoning", summary: [{ text: "hmm so" }] },
        { type: "message", content: [{ type: "output_text", text: "one two" }] },
        { type: "function_call", call_id: "call_1", name: "time", arguments: "{}" },
      ],
      usage: {
        input_tokens: 15,
        input_tokens_details: { cached_tokens: 5 },
        output_tokens: 9,
        output_tokens_details: { reasoning_tokens: 2 },
        total_tokens: 24,
      },
    });
    const events = dataOf(await (await post(url, { ...body, stream: true })).text()) as {
      type: string;
      sequence_number: number;
      response?: { output: unknown; usage: unknown };
    }[];
    expect(events.map(({ sequence_number: at }) => at)).toEqual(events.map((_, index) => index));
    expect(events[0]?.type).toBe("response.created");
    expect(events.at(-1)?.type).toBe("response.completed");
    expect(events.at(-1)?.response).toMatchObject({ output: (whole as { output: unknown[] }).output });
    expect(events.at(-1)?.response?.usage).toEqual((whole as { usage: unknown }).usage);
    expect(vendor.asked[1]).toMatchObject({ system: "be brief", stream: true, reasoning: { effort: "low" } });
    expect((await post(url, { ...body, messages: [] })).status).toBe(400);
    const stray = [{ type: "function_call_output", call_id: "nobody", output: "1" }];
    expect((await post(url, { ...body, input: stray })).status).toBe(400);
  });
});
