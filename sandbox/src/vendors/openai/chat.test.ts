import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  anyNumber,
  anyString,
  at,
  containing,
  createTestSandbox,
  eventsIn,
  matching,
  startMs,
} from "../../test-sandbox.ts";
import { countTokens } from "../../tokens.ts";

const path = "/openai/chat/completions";
const messages = [
  { role: "system", content: "Be brief." },
  { role: "user", content: "How do I water a cactus?" },
];
const weather = {
  type: "function",
  function: {
    name: "get_weather",
    parameters: {
      type: "object",
      properties: {
        city: { type: "string" },
        unit: { enum: ["c", "f"] },
        days: { type: "integer", minimum: 2, maximum: 3 },
      },
      required: ["city", "unit", "days"],
    },
  },
};

describe("openai chat completions", () => {
  test("answers about the last user message, with true usage", async () => {
    const { ask, book } = createTestSandbox();
    const { status, json, headers } = await ask("POST", path, { body: { model: "any", messages } });
    expect(status).toBe(200);
    expect(headers.get("x-request-id")).toMatch(/^req_/);

    const content = String(at(json, "choices", 0, "message", "content"));
    expect(content).toContain("How do I water a cactus?");
    // 2 roles, 3 tokens of "Be brief.", 7 of the question, 3 line breaks; 3 per message and 3 to begin.
    const usage = { prompt_tokens: 2 + 3 + 7 + 3 + 9, completion_tokens: countTokens(content) };
    expect(json).toMatchObject({
      id: matching(/^chatcmpl-/),
      object: "chat.completion",
      created: startMs / 1000,
      model: "any",
      choices: [{ index: 0, message: { role: "assistant" }, finish_reason: "stop" }],
      usage: {
        ...usage,
        total_tokens: usage.prompt_tokens + usage.completion_tokens,
        prompt_tokens_details: { cached_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 0 },
      },
    });
    expect(book.read().entries[0]?.billed).toEqual({
      input_tokens: usage.prompt_tokens,
      cached_tokens: 0,
      output_tokens: usage.completion_tokens,
    });
  });

  test("tells how probable each piece of a text was to who asks", async () => {
    const ask = async (more: object) =>
      (await createTestSandbox().ask("POST", path, { body: { model: "any", messages, ...more } })).json;
    const choice = at(await ask({ logprobs: true, top_logprobs: 2 }), "choices", 0);
    const told = at(choice, "logprobs", "content") as Record<string, unknown>[];
    expect(told.map(({ token }) => token).join("")).toBe(String(at(choice, "message", "content")));
    expect(told[0]).toEqual({
      token: "You",
      logprob: anyNumber,
      bytes: [...Buffer.from("You")],
      top_logprobs: [{ token: "You", logprob: told[0]?.["logprob"], bytes: [...Buffer.from("You")] }],
    });
    expect(told.every(({ logprob }) => Number(logprob) < 0)).toBe(true);
    expect(at(await ask({ logprobs: true }), "choices", 0, "logprobs", "content", 0, "top_logprobs")).toEqual(
      [],
    );
    for (const more of [
      {},
      { logprobs: false },
      { logprobs: true, tools: [weather], tool_choice: "required" },
    ])
      expect(at(await ask(more), "choices", 0, "logprobs")).toBeNull();
  });

  test("the same request has the same answer, another message another one", async () => {
    const body = { model: "any", messages };
    const [first, second] = await Promise.all([
      createTestSandbox().ask("POST", path, { body }),
      createTestSandbox().ask("POST", path, { body }),
    ]);
    expect(first.json).toEqual(second.json);
    const other = await createTestSandbox().ask("POST", path, {
      body: { model: "any", messages: [{ role: "user", content: "Hello" }] },
    });
    expect(at(other.json, "choices", 0)).not.toEqual(at(first.json, "choices", 0));
  });

  test("obeys max_tokens, n and stop", async () => {
    const { ask } = createTestSandbox();
    for (const limit of ["max_tokens", "max_completion_tokens"]) {
      const { json } = await ask("POST", path, { body: { model: "any", messages, [limit]: 5, n: 3 } });
      expect(at(json, "choices")).toMatchObject(
        [0, 1, 2].map((index) => ({ index, finish_reason: "length" })),
      );
      expect(at(json, "usage", "completion_tokens")).toBe(15);
    }
    const { json } = await ask("POST", path, {
      body: { model: "any", messages, stop: ["never there", " cactus"] },
    });
    expect(at(json, "choices", 0, "message", "content")).toMatch(/water a$/);
    expect(at(json, "choices", 0, "finish_reason")).toBe("stop");
  });

  test("takes null where a member need not be there", async () => {
    const members = ["n", "stop", "stream", "stream_options", "max_tokens", "temperature", "logprobs"];
    for (const member of members) {
      const { ask } = createTestSandbox();
      const { status, json } = await ask("POST", path, { body: { model: "any", messages, [member]: null } });
      expect([member, status, at(json, "choices", "length")]).toEqual([member, 200, 1]);
    }
  });

  test("usage never exceeds the bytes sent and the tokens allowed, so a hold by those covers it", async () => {
    const { ask } = createTestSandbox();
    const text = fc.string({ unit: "grapheme", maxLength: 60 });
    const limits = fc.record({
      max_tokens: fc.integer({ min: 1, max: 60 }),
      n: fc.integer({ min: 1, max: 4 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(text, { minLength: 1, maxLength: 5 }),
        limits,
        async (contents, { max_tokens, n }) => {
          const turns = contents.map((content) => ({ role: "user", content }));
          const body = JSON.stringify({ model: "m", messages: turns, max_tokens, n, tools: [weather] });
          const { json } = await ask("POST", path, { body });
          expect(Number(at(json, "usage", "prompt_tokens"))).toBeLessThanOrEqual(Buffer.byteLength(body));
          expect(Number(at(json, "usage", "completion_tokens"))).toBeLessThanOrEqual(n * max_tokens);
        },
      ),
    );
  });

  test("reports a long beginning seen before as cached, in steps of 128", async () => {
    const { ask } = createTestSandbox();
    const long = "lorem ipsum dolor sit amet ".repeat(300);
    const cachedOf = async (model: string, content: string) =>
      at(
        (
          await ask("POST", path, {
            body: {
              model,
              messages: [
                { role: "system", content: long },
                { role: "user", content },
              ],
            },
          })
        ).json,
        "usage",
        "prompt_tokens_details",
        "cached_tokens",
      );
    expect(await cachedOf("a", "one")).toBe(0);
    expect(await cachedOf("a", "two")).toBe(1408);
    expect(await cachedOf("b", "two")).toBe(0);
  });

  test("calls no tool but those that a choice allows", async () => {
    const { ask } = createTestSandbox();
    const named = (...names: string[]) => names.map((name) => ({ type: "function", function: { name } }));
    const calledIn = async (mode: string, ...names: string[]): Promise<unknown[]> => {
      const body = {
        model: "any",
        messages: [{ role: "user", content: "Use get_weather, get_time and get_news." }],
        tools: named("get_weather", "get_time", "get_news"),
        tool_choice: { type: "allowed_tools", allowed_tools: { mode, tools: named(...names) } },
      };
      const { status, json } = await ask("POST", path, { body });
      if (status !== 200) return [status, at(json, "error", "param")];
      const calls = at(json, "choices", 0, "message", "tool_calls") as object[];
      return calls.map((call) => at(call, "function", "name"));
    };
    expect(await calledIn("auto", "get_time", "get_news")).toEqual(["get_time", "get_news"]);
    expect(await calledIn("required", "get_time")).toEqual(["get_time"]);
    expect(await calledIn("auto", "get_lost")).toEqual([400, "tool_choice"]);
    expect(await calledIn("auto")).toEqual([400, "tool_choice"]);
  });

  test("calls a tool when required, named, or spoken of, with arguments that fit its schema", async () => {
    const { ask } = createTestSandbox();
    const spoken = [{ role: "user", content: "please use get_weather for Rome" }];
    for (const body of [
      { messages, tool_choice: "required" },
      { messages, tool_choice: { type: "function", function: { name: "get_weather" } } },
      { messages: spoken },
    ]) {
      const { json } = await ask("POST", path, { body: { model: "any", tools: [weather], ...body } });
      expect(at(json, "choices", 0)).toMatchObject({
        finish_reason: "tool_calls",
        message: {
          content: null,
          tool_calls: [{ id: matching(/^call_/), type: "function", function: { name: "get_weather" } }],
        },
      });
      const args: unknown = JSON.parse(
        String(at(json, "choices", 0, "message", "tool_calls", 0, "function", "arguments")),
      );
      expect(args).toEqual({ city: containing("city"), unit: matching(/^[cf]$/), days: anyNumber });
    }
    const none = await ask("POST", path, {
      body: { model: "any", tools: [weather], messages: spoken, tool_choice: "none" },
    });
    expect(at(none.json, "choices", 0, "finish_reason")).toBe("stop");
  });

  test("calls a custom tool with a text, whole and streamed, and reads what it was called with", async () => {
    const { ask } = createTestSandbox();
    const custom = { name: "apply_patch", format: { type: "text" } };
    const tools = [{ type: "custom", custom }];
    const body = {
      model: "any",
      tools,
      messages,
      tool_choice: { type: "custom", custom: { name: "apply_patch" } },
    };
    const { json } = await ask("POST", path, { body });
    const call = at(json, "choices", 0, "message", "tool_calls", 0);
    const id = String(at(call, "id"));
    const input = String(at(call, "custom", "input"));
    expect(call).toEqual({ id: matching(/^call_/), type: "custom", custom: { name: "apply_patch", input } });
    expect(at(json, "choices", 0, "finish_reason")).toBe("tool_calls");

    const { text } = await ask("POST", path, { body: { ...body, stream: true } });
    const deltas = eventsIn(text).flatMap(
      ({ data }) => at(data, "choices", 0, "delta", "tool_calls", 0) ?? [],
    );
    expect(deltas.map((delta) => String(at(delta, "custom", "input"))).join("")).toBe(input);
    expect(deltas[0]).toEqual({ index: 0, id, type: "custom", custom: { name: "apply_patch", input: "" } });

    const called = { id, type: "custom", custom: { name: "apply_patch", input } };
    const turns = [
      ...messages,
      { role: "assistant", content: null, tool_calls: [called] },
      { role: "tool", tool_call_id: id, content: "patched" },
    ];
    const { json: ended } = await ask("POST", path, { body: { model: "any", tools, messages: turns } });
    expect(at(ended, "choices", 0, "message", "content")).toContain("patched");
  });

  test("a tool's answer ends the loop, and the limit cuts arguments", async () => {
    const { ask } = createTestSandbox();
    const turns = [
      { role: "user", content: "get_weather for Rome" },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "c", type: "function", function: { name: "get_weather", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "c", content: "18 degrees" },
    ];
    const { json } = await ask("POST", path, { body: { model: "any", tools: [weather], messages: turns } });
    expect(at(json, "choices", 0, "message", "content")).toContain("18 degrees");
    const told = [...turns, { role: "system", content: "Be brief." }];
    const { json: brief } = await ask("POST", path, {
      body: { model: "any", tools: [weather], messages: told },
    });
    expect(at(brief, "choices", 0, "message", "content")).toContain("18 degrees");

    const cut = await ask("POST", path, {
      body: { model: "any", tools: [weather], messages, tool_choice: "required", max_tokens: 4 },
    });
    expect(cut.json).toMatchObject({
      choices: [{ finish_reason: "length" }],
      usage: { completion_tokens: 4 },
    });
  });

  test("calls of one conversation have ids of their own, also where the same is asked again", async () => {
    const { ask } = createTestSandbox();
    const asked = { role: "user", content: "get_weather for Rome" };
    const callFor = async (turns: readonly unknown[]) => {
      const { json } = await ask("POST", path, { body: { model: "any", tools: [weather], messages: turns } });
      return at(json, "choices", 0, "message", "tool_calls", 0);
    };
    const first = await callFor([asked]);
    const answered = { role: "tool", tool_call_id: String(at(first, "id")), content: "18 degrees" };
    const second = await callFor([
      asked,
      { role: "assistant", content: null, tool_calls: [first] },
      answered,
      asked,
    ]);
    expect(at(second, "function")).toEqual(at(first, "function"));
    expect(at(second, "id")).not.toBe(at(first, "id"));
  });

  test("where a tool must be called, those that have answered are called last", async () => {
    const { ask } = createTestSandbox();
    const tools = [weather, { type: "function", function: { name: "json", parameters: {} } }];
    const turns: unknown[] = [{ role: "user", content: "get_weather for Rome" }];
    const names: unknown[] = [];
    for (let n = 0; n < 3; n++) {
      const body = { model: "any", tools, messages: turns, tool_choice: "required" };
      const message = at((await ask("POST", path, { body })).json, "choices", 0, "message");
      const call = at(message, "tool_calls", 0);
      turns.push(message, { role: "tool", tool_call_id: at(call, "id"), content: "18 degrees" });
      names.push(at(call, "function", "name"));
    }
    expect(names).toEqual(["get_weather", "json", "get_weather"]);
  });

  test("answers JSON when asked to, also for a schema that refers to itself", async () => {
    const { ask } = createTestSandbox();
    const schema = {
      $ref: "#/$defs/Node",
      $defs: {
        Node: {
          type: "object",
          properties: {
            name: { type: "string" },
            children: { type: "array", minItems: 9, items: { $ref: "#/$defs/Node" } },
          },
        },
      },
    };
    for (const response_format of [
      { type: "json_object" },
      { type: "json_schema", json_schema: { name: "n", schema: weather.function.parameters } },
    ]) {
      const { json } = await ask("POST", path, { body: { model: "any", messages, response_format } });
      expect(JSON.parse(String(at(json, "choices", 0, "message", "content")))).toBeObject();
    }
    const deep = await ask("POST", path, {
      body: { model: "any", messages, response_format: { type: "json_schema", json_schema: { schema } } },
    });
    expect(deep.status).toBe(200);
    expect(Number(at(deep.json, "usage", "completion_tokens"))).toBeLessThanOrEqual(4096);
  });

  test("counts parts of a message and its images", async () => {
    const { ask } = createTestSandbox();
    const tokensOf = async (content: unknown) =>
      Number(
        at(
          (await ask("POST", path, { body: { model: "any", messages: [{ role: "user", content }] } })).json,
          "usage",
          "prompt_tokens",
        ),
      );
    const text = { type: "text", text: "Look here" };
    expect(await tokensOf([text])).toBe(await tokensOf("Look here"));
    expect(
      (await tokensOf([text, { type: "image_url", image_url: { url: "https://x.test/a.png" } }])) -
        (await tokensOf([text])),
    ).toBe(86);
  });
});

describe("openai errors", () => {
  test.each([
    ["{", null],
    [{ messages }, "model"],
    [{ model: "a", messages: [] }, "messages"],
    [{ model: "a", messages: [{ role: "user" }] }, "messages[0]"],
    [{ model: "a", messages: [{ role: "nobody", content: "" }] }, "messages[0]"],
    [{ model: "a", messages, stream: "yes" }, "stream"],
    [{ model: "a", messages, stream_options: { include_usage: true } }, "stream_options"],
    [{ model: "a", messages, reasoning_effort: "much" }, "reasoning_effort"],
    [{ model: "a", messages, logprobs: 1 }, "logprobs"],
    [{ model: "a", messages, top_logprobs: 2 }, "top_logprobs"],
    [{ model: "a", messages, logprobs: true, top_logprobs: 21 }, "top_logprobs"],
    [{ model: "a", messages, max_tokens: 0 }, "max_tokens"],
    [{ model: "a", messages, n: 0 }, "n"],
    [{ model: "a", messages, stop: ["1", "2", "3", "4", "5"] }, "stop"],
    [{ model: "a", messages, temperature: 3 }, "temperature"],
    [{ model: "a", messages, tools: [{}] }, "tools"],
    [{ model: "a", messages, tool_choice: "required" }, "tool_choice"],
  ])("refuses %j naming %p", async (body, param) => {
    const { ask, book } = createTestSandbox();
    expect(await ask("POST", path, { body })).toMatchObject({
      status: 400,
      json: { error: { message: anyString, type: "invalid_request_error", param } },
    });
    expect(book.read().entries[0]).toMatchObject({ status: 400, billed: null });
  });

  test("tells a missing key from a wrong one, and a missing model from a missing path", async () => {
    const { ask } = createTestSandbox();
    expect(await ask("GET", "/openai/models", { headers: {} })).toMatchObject({
      status: 401,
      json: { error: { code: null } },
    });
    expect(await ask("GET", "/openai/models", { headers: { authorization: "Bearer no" } })).toMatchObject({
      status: 401,
      json: { error: { code: "invalid_api_key" } },
    });
    expect(await ask("POST", path, { body: { model: "missing-1", messages } })).toMatchObject({
      status: 404,
      json: { error: { code: "model_not_found" } },
    });
    expect(await ask("GET", "/openai/nothing")).toMatchObject({
      status: 404,
      json: { error: { type: "invalid_request_error" } },
    });
  });

  test("lists models for free", async () => {
    const { ask, book } = createTestSandbox();
    expect(await ask("GET", "/openai/models")).toMatchObject({
      status: 200,
      json: { object: "list", data: [{ object: "model" }, { object: "model" }] },
    });
    expect(book.read().entries[0]).toMatchObject({ status: 200, billed: null });
  });
});
