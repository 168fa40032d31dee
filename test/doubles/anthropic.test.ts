// The Anthropic double, as its vendor describes it.

import { describe, expect, test } from "bun:test";

import { openAnthropicDouble } from "./anthropic.ts";
import { createKeeper, dataOf, get, post, refusalOf } from "./exchange.ts";
import { omitted } from "./vendor-checks.ts";

const keep = createKeeper();
const auth = { "x-api-key": "k-1", "anthropic-version": "2023-06-01" };
const ask = { model: "claude-x", max_tokens: 100, messages: [{ role: "user", content: "hi" }] };
const thinking = { thinking: { type: "enabled", budget_tokens: 1024 }, max_tokens: 2000 };
const usage = { input: 10, cacheRead: 20, cacheWrite: 3, cacheWrite1h: 4, output: 50, reasoning: 8 };
const reply = {
  reasoning: "let me think",
  text: "It is noon.",
  toolCalls: [
    { id: "toolu_1", name: "time", arguments: '{"zone":"Zürich"}' },
    { id: "toolu_2", name: "date", arguments: "{}" },
  ],
};

describe("anthropic", () => {
  test("answers a message whose input leaves out what was cached", async () => {
    const vendor = await keep(openAnthropicDouble({ key: "k-1", reply, usage }));
    const answer = await post(`${vendor.url}/messages`, { ...ask, ...thinking }, auth);
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({
      type: "message",
      role: "assistant",
      content: [
        { type: "thinking", thinking: "let me think" },
        { type: "text", text: "It is noon." },
        { type: "tool_use", id: "toolu_1", name: "time", input: { zone: "Zürich" } },
        { type: "tool_use", id: "toolu_2", name: "date", input: {} },
      ],
      stop_reason: "tool_use",
      stop_sequence: null,
      usage: {
        input_tokens: 10,
        cache_creation_input_tokens: 7,
        cache_read_input_tokens: 20,
        cache_creation: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 4 },
        output_tokens: 50,
      },
    });
    expect(vendor.book[0]).toMatchObject({
      requestId: answer.headers.get("request-id"),
      billed: { model: "claude-x", tokens: usage },
      stream: null,
    });
  });

  test("streams the whole sequence, named events, and a ping", async () => {
    const vendor = await keep(openAnthropicDouble({ key: "k-1", reply, usage }));
    const text = await (
      await post(`${vendor.url}/messages`, { ...ask, ...thinking, stream: true }, auth)
    ).text();
    const names = [...text.matchAll(/^event: (.*)$/gm)].map(([, name]) => name);
    const events = dataOf(text) as {
      type: string;
      index?: number;
      delta?: Record<string, string>;
      usage?: unknown;
    }[];
    expect(names).toEqual(events.map(({ type }) => type));
    expect(names.slice(0, 3)).toEqual(["message_start", "content_block_start", "ping"]);
    expect(names.slice(-2)).toEqual(["message_delta", "message_stop"]);
    expect(events[0]).toMatchObject({
      message: { content: [], stop_reason: null, usage: { input_tokens: 10, output_tokens: 1 } },
    });
    const joined = (index: number, member: string): string =>
      events
        .filter((event) => event.index === index)
        .map(({ delta }) => delta?.[member] ?? "")
        .join("");
    expect(joined(0, "thinking")).toBe("let me think");
    expect(joined(0, "signature")).not.toBe("");
    expect(joined(1, "text")).toBe("It is noon.");
    expect(joined(2, "partial_json")).toBe('{"zone":"Zürich"}');
    expect(joined(3, "partial_json")).toBe("{}");
    expect(events.at(-2)).toMatchObject({
      delta: { stop_reason: "tool_use", stop_sequence: null },
      usage: { input_tokens: 10, cache_read_input_tokens: null, output_tokens: 50 },
    });
    expect(vendor.book[0]).toMatchObject({
      billed: { tokens: usage },
      stream: { events: events.length, left: false, whole: true },
    });
  });

  test("thinks in the open only when asked, but bills it", async () => {
    const vendor = await keep(openAnthropicDouble({ key: "k-1", reply }));
    const answerTo = async (asked: object): Promise<unknown> =>
      (await post(`${vendor.url}/messages`, asked, auth)).json();
    expect(await answerTo(ask)).toHaveProperty("content.0.type", "text");
    expect(await answerTo({ ...ask, ...thinking })).toHaveProperty("content.0.type", "thinking");
    expect(vendor.book.map(({ billed }) => billed.tokens.reasoning)).toEqual([3, 3]);
  });

  test("stops at a limit, at a stop sequence, or by refusing", async () => {
    const vendor = await keep(openAnthropicDouble({ key: "k-1", reply: "one two three" }));
    const stopOf = async (rest: object): Promise<unknown> =>
      (await post(`${vendor.url}/messages`, { ...ask, ...rest }, auth)).json();
    expect(await stopOf({ max_tokens: 2 })).toMatchObject({
      stop_reason: "max_tokens",
      content: [{ text: "one two" }],
    });
    expect(await stopOf({ stop_sequences: ["x", " three"] })).toMatchObject({
      stop_reason: "stop_sequence",
      stop_sequence: " three",
      content: [{ text: "one two" }],
    });
    const prude = await keep(
      openAnthropicDouble({ key: "k-1", reply: { stop: "filtered" }, usage: omitted }),
    );
    const refusal: unknown = await (await post(`${prude.url}/messages`, ask, auth)).json();
    expect(refusal).toMatchObject({ stop_reason: "refusal", content: [] });
    expect(refusal).not.toHaveProperty("usage");
  });

  test("counts tokens, free", async () => {
    const vendor = await keep(openAnthropicDouble({ key: "k-1", usage }));
    const { max_tokens: _, ...counted } = ask;
    const url = `${vendor.url}/messages/count_tokens`;
    expect(await (await post(url, counted, auth)).json()).toEqual({ input_tokens: 37 });
    expect((await refusalOf(post(url, ask, auth))).body).toMatchObject({
      error: { message: "max_tokens: Extra inputs are not permitted" },
    });
    expect(vendor.book).toEqual([]);
    expect(vendor.asked).toEqual([]);
  });

  test("lets later models choose their words, and takes what comes to the same", async () => {
    const vendor = await keep(openAnthropicDouble({ key: "k-1", models: ["claude-x", "claude-opus-5"] }));
    const url = `${vendor.url}/messages`;
    const later = { ...ask, model: "claude-opus-5" };
    for (const member of [{ temperature: 0.5 }, { top_p: 0.9 }, { top_k: 40 }]) {
      expect((await refusalOf(post(url, { ...later, ...member }, auth))).body).toMatchObject({
        error: { message: `\`${Object.keys(member)[0]}\` is deprecated for this model.` },
      });
      expect((await post(url, { ...ask, ...member }, auth)).status).toBe(200);
    }
    expect((await post(url, { ...later, temperature: 1, top_p: 0.99 }, auth)).status).toBe(200);
  });

  test("refuses as Anthropic does, and bills nothing", async () => {
    const vendor = await keep(openAnthropicDouble({ key: "k-1" }));
    const url = `${vendor.url}/messages`;
    const refused = async (answer: Promise<Response>, status: number, error: object): Promise<void> => {
      const refusal = await refusalOf(answer);
      expect(refusal.status).toBe(status);
      expect(refusal.body).toMatchObject({ type: "error", error, request_id: expect.any(String) as unknown });
    };
    const invalid = (message: string): object => ({
      type: "invalid_request_error",
      message: expect.stringContaining(message) as unknown,
    });
    const { max_tokens: _, ...endless } = ask;
    const [hi] = ask.messages;
    await refused(post(url, ask, { ...auth, "x-api-key": "other" }), 401, { type: "authentication_error" });
    await refused(post(url, ask), 401, { type: "authentication_error" });
    await refused(post(url, ask, { "x-api-key": "k-1" }), 400, invalid("anthropic-version"));
    await refused(
      post(url, ask, { ...auth, "anthropic-version": "latest" }),
      400,
      invalid("anthropic-version"),
    );
    await refused(post(url, endless, auth), 400, invalid("max_tokens: Field required"));
    await refused(post(url, { ...ask, n: 1 }, auth), 400, invalid("n: Extra inputs are not permitted"));
    await refused(
      post(url, { ...ask, messages: [{ ...hi, name: "x" }] }, auth),
      400,
      invalid("messages.0.name: Extra"),
    );
    const block = { type: "text", text: "a", cache: 1 };
    await refused(
      post(url, { ...ask, messages: [{ role: "user", content: [block] }] }, auth),
      400,
      invalid("messages.0.content.0.cache: Extra inputs are not permitted"),
    );
    await refused(
      post(url, { ...ask, messages: [hi, { role: "system", content: "a" }] }, auth),
      400,
      invalid("role 'system' is not supported on this model"),
    );
    await refused(
      post(url, { ...ask, messages: [{ role: "user", content: "" }] }, auth),
      400,
      invalid("non-empty"),
    );
    await refused(post(url, { ...ask, temperature: 1.5 }, auth), 400, invalid("temperature"));
    await refused(
      post(url, { ...ask, thinking: { type: "enabled", budget_tokens: 1024 } }, auth),
      400,
      invalid("max_tokens"),
    );
    await refused(post(url, { ...ask, ...thinking, temperature: 0 }, auth), 400, invalid("temperature"));
    await refused(post(url, { ...ask, tool_choice: { type: "any" } }, auth), 400, invalid("tool_choice"));
    await refused(post(url, { ...ask, model: "claude-y" }, auth), 404, {
      type: "not_found_error",
      message: "model: claude-y",
    });
    await refused(get(`${vendor.url}/messages`, auth), 404, { type: "not_found_error" });
    expect(vendor.book).toEqual([]);
  });

  test("neighbours may share a role; a call must be answered in the next turn", async () => {
    const vendor = await keep(openAnthropicDouble({ key: "k-1" }));
    const use = { type: "tool_use", id: "toolu_1", name: "time", input: {} };
    const result = { type: "tool_result", tool_use_id: "toolu_1", content: "noon" };
    const tools = [{ name: "time", input_schema: { type: "object" } }];
    const statusOf = async (...messages: readonly object[]): Promise<number> =>
      (await post(`${vendor.url}/messages`, { ...ask, tools, messages }, auth)).status;
    const hi = { role: "user", content: "hi" };
    const calling = { role: "assistant", content: [use] };
    expect(await statusOf(hi, hi, calling, { role: "user", content: [result] }, hi)).toBe(200);
    expect(await statusOf(hi, calling, hi)).toBe(400);
    expect(await statusOf(hi, { role: "user", content: [result] })).toBe(400);
    expect(await statusOf(hi, { role: "user", content: [use] })).toBe(400);

    const messages = [hi, calling, { role: "user", content: [result] }];
    const { status, body } = await refusalOf(post(`${vendor.url}/messages`, { ...ask, messages }, auth));
    expect(status).toBe(400);
    expect(JSON.stringify(body)).toContain("must define tools");
  });
});
