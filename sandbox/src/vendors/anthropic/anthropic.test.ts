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
} from "../../test-sandbox.ts";

const path = "/anthropic/messages";
const messages = [{ role: "user", content: "How do I water a cactus?" }];
const base = { model: "any", max_tokens: 4000, messages };
const tool = (name: string) => ({
  name,
  input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
});
const spoken = [{ role: "user", content: "get_weather and get_time in Rome" }];

async function stream(body: object) {
  const { text } = await createTestSandbox().ask("POST", path, { body: { ...base, stream: true, ...body } });
  return eventsIn(text);
}

describe("anthropic messages", () => {
  test("answers with a message and usage that excludes the cache", async () => {
    const { ask, book } = createTestSandbox();
    const { status, json, headers } = await ask("POST", path, { body: base });
    expect(status).toBe(200);
    expect(headers.get("request-id")).toMatch(/^req_/);
    expect(json).toEqual({
      id: matching(/^msg_/),
      type: "message",
      role: "assistant",
      model: "any",
      content: [{ type: "text", text: containing("water a cactus") }],
      stop_reason: "end_turn",
      stop_sequence: null,
      usage: {
        input_tokens: 15,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
        output_tokens: anyNumber,
        service_tier: "standard",
      },
    });
    expect(book.read().entries[0]?.billed).toEqual({
      input_tokens: 15,
      cached_tokens: 0,
      cache_write_tokens: 0,
      cache_write_1h_tokens: 0,
      output_tokens: Number(at(json, "usage", "output_tokens")),
    });
  });

  test("refuses to keep a thread in the words by which official clients go on without one", async () => {
    const { ask } = createTestSandbox();
    const kept = await ask("POST", path, { body: { ...base, thread: { type: "create" } } });
    expect(kept.status).toBe(400);
    expect(kept.json).toMatchObject({
      error: {
        type: "invalid_request_error",
        details: { error_code: "thread_unsupported_request", unsupported: ["model"] },
      },
    });
    expect((await ask("POST", path, { body: { ...base, thread: null } })).status).toBe(200);
  });

  test("takes the key as a bearer too", async () => {
    const headers = { authorization: "Bearer sandbox", "anthropic-version": "2023-06-01" };
    expect((await createTestSandbox().ask("POST", path, { body: base, headers })).status).toBe(200);
  });

  test("looks at the pages of a document, and does not read the bytes they are kept in", async () => {
    const { ask } = createTestSandbox();
    const about = async (source: object) => {
      const content = [{ type: "document", source }, ...asked];
      return (await ask("POST", path, { body: { ...base, messages: [{ role: "user", content }] } })).json;
    };
    const asked = [{ type: "text", text: "What is in it?" }];
    const data = "JVBERi0xLjQK".repeat(1_000);
    for (const source of [
      { type: "base64", media_type: "application/pdf", data },
      { type: "url", url: "https://example.com/a.pdf" },
    ]) {
      const seen = await about(source);
      expect(seen).toMatchObject({ content: [{ text: matching(/"What is in it\?"\. I looked/) }] });
      expect(at(seen, "usage", "input_tokens")).toBeLessThan(200);
    }

    for (const source of [
      { type: "text", media_type: "text/plain", data: "A tram." },
      { type: "content", content: [{ type: "text", text: "A tram." }] },
      { type: "content", content: "A tram." },
    ])
      expect(await about(source)).toMatchObject({ content: [{ text: containing("A tram.") }] });
  });

  test("reads what a search found, said by the person or by a tool", async () => {
    const { ask } = createTestSandbox();
    const answerTo = async (said: object[]) =>
      (await ask("POST", path, { body: { ...base, messages: said, tools: [tool("find")] } })).json;
    const text = { type: "text", text: "A tram." };
    const found = { type: "search_result", source: "https://example.com", title: "Trams", content: [text] };
    expect(await answerTo([{ role: "user", content: [found] }])).toMatchObject({
      content: [{ text: containing("A tram.") }],
    });
    const called = { type: "tool_use", id: "toolu_1", name: "find", input: {} };
    const result = { type: "tool_result", tool_use_id: "toolu_1", content: [found] };
    expect(
      await answerTo([
        ...messages,
        { role: "assistant", content: [called] },
        { role: "user", content: [result] },
      ]),
    ).toMatchObject({ content: [{ text: containing("A tram.") }] });
    for (const wrong of [{ source: 1 }, { title: undefined }, { content: "A tram." }, { content: [found] }])
      expect(await answerTo([{ role: "user", content: [{ ...found, ...wrong }] }])).toMatchObject({
        type: "error",
      });
  });

  test("obeys max_tokens and stop_sequences", async () => {
    const { ask } = createTestSandbox();
    const cut = await ask("POST", path, { body: { ...base, max_tokens: 5 } });
    expect(cut.json).toMatchObject({ stop_reason: "max_tokens", usage: { output_tokens: 5 } });
    const stopped = await ask("POST", path, { body: { ...base, stop_sequences: [" cactus"] } });
    expect(stopped.json).toMatchObject({
      content: [{ text: matching(/water a$/) }],
      stop_reason: "stop_sequence",
      stop_sequence: " cactus",
    });
  });

  test.each([
    [{ type: "bash_20250124", name: "bash" }, { command: anyString }],
    [
      { type: "text_editor_20250728", name: "str_replace_based_edit_tool" },
      { command: "view", path: anyString },
    ],
    [{ type: "computer_20250124", name: "computer", display_width_px: 9 }, { action: "screenshot" }],
    [
      { type: "memory_20250818", name: "memory" },
      { command: "view", path: anyString },
    ],
  ])("calls a tool that its models know without a schema: %j", async (known, input) => {
    const body = { ...base, messages: [{ role: "user", content: `Use ${known.name}.` }], tools: [known] };
    expect((await createTestSandbox().ask("POST", path, { body })).json).toMatchObject({
      stop_reason: "tool_use",
      content: [{ type: "tool_use", name: known.name, input }],
    });
  });

  test("calls tools, several at once unless told not to", async () => {
    const { ask } = createTestSandbox();
    const body = { ...base, messages: spoken, tools: [tool("get_weather"), tool("get_time")] };
    const both = await ask("POST", path, { body });
    expect(both.json).toMatchObject({
      stop_reason: "tool_use",
      content: [
        { type: "tool_use", id: matching(/^toolu_/), name: "get_weather", input: { city: anyString } },
        { type: "tool_use", id: matching(/^toolu_/), name: "get_time", input: { city: anyString } },
      ],
    });
    const one = await ask("POST", path, {
      body: { ...body, tool_choice: { type: "auto", disable_parallel_tool_use: true } },
    });
    expect(at(one.json, "content", "length")).toBe(1);
    for (const [type, calls] of [
      ["none", 0],
      ["any", 2],
    ] as const) {
      const { json } = await ask("POST", path, { body: { ...body, tool_choice: { type } } });
      expect(at(json, "stop_reason")).toBe(calls === 0 ? "end_turn" : "tool_use");
    }
  });

  test("the reminders that Claude Code puts into a turn are not the person's words", async () => {
    const { ask } = createTestSandbox();
    const tools = [tool("Bash"), tool("Skill")];
    const text = (words: string) => ({ type: "text", text: words });
    const reminder = text(
      "<system-reminder>\nSkills for use with the Skill tool, Bash too.\n</system-reminder>\n",
    );
    const said = async (...turns: readonly object[][]) => {
      const roles = ["user", "assistant"];
      const body = { ...base, tools, messages: turns.map((content, n) => ({ role: roles[n % 2], content })) };
      return at((await ask("POST", path, { body })).json, "content");
    };

    const greeting = [reminder, text("Say hello."), reminder];
    expect(await said(greeting)).toMatchObject([{ type: "text", text: containing('"Say hello."') }]);
    const order = [reminder, text("Use Bash.")];
    const called = { type: "tool_use", id: "toolu_1", name: "Bash", input: {} };
    expect(await said(order)).toMatchObject([{ type: "tool_use", name: "Bash" }]);
    const result = { type: "tool_result", tool_use_id: "toolu_1", content: "hello" };
    expect(await said(order, [called], [result, reminder])).toMatchObject([
      { type: "text", text: containing("The tool answered: hello.") },
    ]);
  });

  test("thinks when told to, signs its thoughts, and takes back only those", async () => {
    const { ask, book } = createTestSandbox();
    const thinking = { type: "enabled", budget_tokens: 1024 };
    const { json, text } = await ask("POST", path, { body: { ...base, thinking } });
    // A match against a pattern leaves the pattern in the value (Bun 1.4.4), so what is used later is read anew.
    const content = at(JSON.parse(text), "content");
    expect(json).toMatchObject({
      content: [{ type: "thinking", thinking: anyString, signature: anyString }, { type: "text" }],
    });
    const { output_tokens: output = 0, reasoning_tokens: thought = 0 } = book.read().entries[0]?.billed ?? {};
    expect(thought).toBeGreaterThan(5);
    expect(output).toBeGreaterThan(thought);
    expect(at(json, "usage", "output_tokens")).toBe(output);

    const next = [...messages, { role: "assistant", content }, { role: "user", content: "And then?" }];
    expect((await ask("POST", path, { body: { ...base, messages: next } })).status).toBe(200);
    const forged = [{ role: "assistant", content: [{ ...Object(at(content, 0)), signature: "x" }] }];
    const refused = await ask("POST", path, { body: { ...base, messages: forged } });
    expect([refused.status, at(refused.json, "error", "message")]).toEqual([400, containing("signature")]);
  });

  test("answers nothing within a limit of 0, and bills what it read", async () => {
    const { ask, book } = createTestSandbox();
    const { status, json } = await ask("POST", path, { body: { ...base, max_tokens: 0 } });
    expect(status).toBe(200);
    expect(json).toMatchObject({ content: [], stop_reason: "max_tokens", usage: { output_tokens: 0 } });
    expect(book.read().entries[0]).toMatchObject({ billed: { input_tokens: 15, output_tokens: 0 } });
  });

  test("counts tokens for free", async () => {
    const { ask, book } = createTestSandbox();
    const { json } = await ask("POST", `${path}/count_tokens`, { body: { model: "any", messages } });
    expect(json).toEqual({ input_tokens: 15 });
    expect(book.read().entries[0]).toMatchObject({ status: 200, billed: null });
  });

  test("lists models", async () => {
    expect((await createTestSandbox().ask("GET", "/anthropic/models")).json).toMatchObject({
      data: [{ type: "model" }, { type: "model" }],
      has_more: false,
    });
  });

  test("usage never exceeds the bytes sent and the tokens allowed", async () => {
    const { ask } = createTestSandbox();
    const text = fc.string({ unit: "grapheme", maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(text, { minLength: 1, maxLength: 5 }),
        fc.integer({ min: 1, max: 60 }),
        async (contents, max_tokens) => {
          const turns = contents.map((content) => ({ role: "user", content }));
          const body = JSON.stringify({
            model: "m",
            messages: turns,
            max_tokens,
            system: "s",
            tools: [tool("t")],
          });
          const { json } = await ask("POST", path, { body });
          expect(Number(at(json, "usage", "input_tokens"))).toBeLessThanOrEqual(Buffer.byteLength(body));
          expect(Number(at(json, "usage", "output_tokens"))).toBeLessThanOrEqual(max_tokens);
        },
      ),
    );
  });
});

describe("anthropic prompt cache", () => {
  const marked = (text: string, ttl?: string) => ({
    type: "text",
    text,
    cache_control: { type: "ephemeral", ...(ttl === undefined ? {} : { ttl }) },
  });
  const createAsk = () => {
    const sandbox = createTestSandbox();
    const usageOf = async (body: object) => {
      const { json } = await sandbox.ask("POST", path, { body: { ...base, ...body } });
      const usage = at(json, "usage");
      return {
        input: Number(at(usage, "input_tokens")),
        read: Number(at(usage, "cache_read_input_tokens")),
        written5m: Number(at(usage, "cache_creation", "ephemeral_5m_input_tokens")),
        written1h: Number(at(usage, "cache_creation", "ephemeral_1h_input_tokens")),
      };
    };
    return { ...sandbox, usageOf };
  };
  const total = ({ input, read, written5m, written1h }: Record<string, number>) =>
    (input ?? 0) + (read ?? 0) + (written5m ?? 0) + (written1h ?? 0);

  test("what is marked is written once and read afterwards, until its time is over", async () => {
    const { usageOf, clock, book } = createAsk();
    const body = { system: [marked("Long rules of the house."), { type: "text", text: "Today is Monday." }] };
    const first = await usageOf(body);
    expect(first).toMatchObject({ read: 0, written1h: 0 });
    expect(first.written5m).toBeGreaterThan(5);

    const second = await usageOf({ system: [body.system[0], { type: "text", text: "Today is Friday." }] });
    expect(second).toEqual({ input: first.input, read: first.written5m, written5m: 0, written1h: 0 });
    expect(book.read().entries[1]?.billed).toMatchObject({ cached_tokens: first.written5m });

    clock.ms += 5 * 60_000;
    expect(await usageOf(body)).toEqual(first);
  });

  test("an hour and five minutes are counted apart, and add up to the whole prompt", async () => {
    const { usageOf, clock } = createAsk();
    const body = { system: [marked("Rules for an hour.", "1h"), marked("News for five minutes.")] };
    const plain = await usageOf({ system: "Rules for an hour.\nNews for five minutes." });
    const first = await usageOf(body);
    expect(Math.min(first.written5m, first.written1h)).toBeGreaterThan(3);
    expect(total(first)).toBe(plain.input);

    clock.ms += 10 * 60_000;
    expect(await usageOf(body)).toMatchObject({
      read: first.written1h,
      written5m: first.written5m,
      written1h: 0,
    });
  });

  test("a mark that moves on with the conversation reads what was marked before", async () => {
    const { usageOf } = createAsk();
    const begun = { role: "user", content: [marked("Tell me about cacti")] };
    const first = await usageOf({ messages: [begun] });
    const second = await usageOf({
      messages: [
        { role: "user", content: [{ type: "text", text: "Tell me about cacti" }] },
        { role: "assistant", content: "They are green." },
        { role: "user", content: [marked("And their spines?")] },
      ],
    });
    expect(second.read).toBe(first.written5m);
    expect(second.written5m).toBeGreaterThan(5);
  });

  test("tools and the request itself can be marked, another model has another cache", async () => {
    const { usageOf } = createAsk();
    const tools = [{ ...tool("get_weather"), cache_control: { type: "ephemeral", ttl: "1h" } }];
    const first = await usageOf({ tools, cache_control: { type: "ephemeral" } });
    expect(first).toMatchObject({ input: 3, read: 0 });
    expect(first.written1h).toBeGreaterThan(10);
    expect((await usageOf({ tools })).read).toBe(first.written1h);
    expect((await usageOf({ tools, model: "other" })).read).toBe(0);
  });
});

describe("anthropic stream", () => {
  test("sends every event in the vendor's order, with a ping", async () => {
    const events = await stream({});
    expect(events.every(({ event, data }) => at(data, "type") === event)).toBe(true);
    const types = events.map(({ event }) => event);
    expect(types.slice(0, 4)).toEqual([
      "message_start",
      "content_block_start",
      "ping",
      "content_block_delta",
    ]);
    expect(types.slice(-3)).toEqual(["content_block_stop", "message_delta", "message_stop"]);
    expect(events[0]?.data).toMatchObject({
      message: { content: [], stop_reason: null, usage: { input_tokens: 15, output_tokens: 0 } },
    });

    const { json } = await createTestSandbox().ask("POST", path, { body: base });
    expect(events.at(-2)?.data).toMatchObject({
      delta: { stop_reason: "end_turn", stop_sequence: null },
      usage: { input_tokens: 15, output_tokens: Number(at(json, "usage", "output_tokens")) },
    });
  });

  test("streams parallel tool use as pieces of JSON", async () => {
    const events = await stream({ messages: spoken, tools: [tool("get_weather"), tool("get_time")] });
    const begun = events.filter(({ event }) => event === "content_block_start");
    expect(begun.map(({ data }) => data)).toMatchObject([
      { index: 0, content_block: { type: "tool_use", name: "get_weather", input: {} } },
      { index: 1, content_block: { type: "tool_use", name: "get_time", input: {} } },
    ]);
    const pieces = events.filter(
      ({ event, data }) => event === "content_block_delta" && at(data, "index") === 1,
    );
    const joined = pieces.map(({ data }) => at(data, "delta", "partial_json")).join("");
    expect(JSON.parse(joined)).toEqual({ city: anyString });
    expect(at(events.at(-2)?.data, "delta", "stop_reason")).toBe("tool_use");
  });

  test("streams thoughts and their signature before the text", async () => {
    const events = await stream({ thinking: { type: "enabled", budget_tokens: 1024 } });
    const deltas = events.flatMap(({ data }) => at(data, "delta", "type") ?? []);
    expect([...new Set(deltas)]).toEqual(["thinking_delta", "signature_delta", "text_delta"]);
  });
});

test("instructions that are added behind a user's turn are read as the model knows them, and change no answer", async () => {
  const { ask } = createTestSandbox();
  const model = "claude-opus-5";
  const tokensOf = async (more: object[]): Promise<number> => {
    const body = { ...base, model, messages: [...messages, ...more] };
    const { status, json } = await ask("POST", path, { body });
    expect(status).toBe(200);
    expect(String(at(json, "content", 0, "text"))).toContain("cactus");
    return Number(at(json, "usage", "input_tokens"));
  };
  const added = { role: "system", content: [{ type: "text", text: "Be brief." }] };
  expect(await tokensOf([added])).toBeGreaterThan(await tokensOf([]));
});

describe("anthropic errors", () => {
  const newer = { ...base, model: "claude-opus-5" };
  const added = { role: "system", content: "Be brief." };
  const begun = { role: "assistant", content: "They" };
  const image = { type: "image", source: { type: "base64", media_type: "image/png" } };
  const result = { type: "tool_result", tool_use_id: "t", content: "" };
  const use = { type: "tool_use", id: "t", name: "n", input: {} };

  test.each([
    ["{", "JSON"],
    [{ messages, max_tokens: 1 }, "model"],
    [{ model: "a", messages }, "max_tokens: Field required"],
    [{ ...base, max_tokens: -1 }, "max_tokens"],
    [{ ...base, messages: [] }, "messages"],
    [{ ...base, messages: [{ role: "tool", content: "" }] }, "messages.0.role"],
    [{ ...base, messages: [added, ...messages] }, "messages.0"],
    [{ ...base, messages: [...messages, added] }, "not supported on this model"],
    [{ ...newer, messages: [...messages, begun, added] }, "must follow a 'user' message"],
    [{ ...newer, messages: [...messages, added, ...messages] }, "must precede an 'assistant' message"],
    [{ ...newer, messages: [...messages, { ...added, content: [image] }] }, "messages.1.content"],
    [{ ...base, messages: [{ role: "user" }] }, "messages.0.content"],
    [{ ...base, messages: [{ role: "user", content: [image] }] }, "messages.0.content.0"],
    [{ ...base, messages: [{ role: "user", content: [result] }] }, "tool_use_id"],
    [{ ...base, messages: [{ role: "assistant", content: [use] }, ...messages] }, "tool_result"],
    [
      {
        ...base,
        messages: [
          { role: "assistant", content: [use] },
          { role: "user", content: [result] },
        ],
      },
      "must define tools",
    ],
    [{ ...base, temperature: 1.5 }, "temperature"],
    [{ ...base, tools: [{ name: "a" }] }, "tools.0"],
    [{ ...base, tools: [{ type: "bash_20250124" }] }, "tools.0"],
    [{ ...base, tools: [{ type: "web_search_20250305", name: "web_search" }] }, "tools.0"],
    [{ ...base, tool_choice: { type: "any" } }, "tool_choice"],
    [{ ...base, thinking: { type: "enabled", budget_tokens: 9 } }, "budget_tokens"],
    [{ ...base, thinking: { type: "enabled", budget_tokens: 4000 } }, "max_tokens"],
    [{ ...base, n: 2 }, "n: Extra inputs are not permitted"],
  ])("refuses %j about %p", async (body, about) => {
    const { ask, book } = createTestSandbox();
    expect(await ask("POST", path, { body })).toMatchObject({
      status: 400,
      json: {
        type: "error",
        error: { type: "invalid_request_error", message: containing(about) },
        request_id: matching(/^req_/),
      },
    });
    expect(book.read().entries[0]).toMatchObject({ status: 400, billed: null });
  });

  test("asks for a key, a version, and a model and a path that exist", async () => {
    const { ask } = createTestSandbox();
    const version = { "anthropic-version": "2023-06-01" };
    const typeOf = async (where: string, headers: Record<string, string>, body: object = base) => {
      const { status, json } = await ask("POST", where, { headers, body });
      return [status, at(json, "error", "type"), at(json, "error", "message")];
    };
    const key = { "x-api-key": "sandbox" };
    expect(await typeOf(path, version)).toEqual([401, "authentication_error", anyString]);
    expect(await typeOf(path, { ...version, "x-api-key": "no" })).toEqual([
      401,
      "authentication_error",
      anyString,
    ]);
    expect(await typeOf(path, key)).toEqual([400, "invalid_request_error", containing("anthropic-version")]);
    expect(await typeOf("/anthropic/nothing", { ...key, ...version })).toEqual([
      404,
      "not_found_error",
      anyString,
    ]);
    expect(await typeOf(path, { ...key, ...version }, { ...base, model: "missing-1" })).toEqual([
      404,
      "not_found_error",
      "model: missing-1",
    ]);
  });
});
