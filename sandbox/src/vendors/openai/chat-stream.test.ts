import { describe, expect, test } from "bun:test";
import { anyString, at, createTestSandbox, eventsIn, matching } from "../../test-sandbox.ts";

const path = "/openai/chat/completions";
const messages = [{ role: "user", content: "How do I water a cactus?" }];
const tool = (name: string) => ({
  type: "function",
  function: { name, parameters: { type: "object", properties: { city: { type: "string" } } } },
});

async function stream(body: object, sandbox = createTestSandbox()) {
  const { text, headers } = await sandbox.ask("POST", path, {
    body: { model: "any", messages, stream: true, ...body },
  });
  const events = eventsIn(text).map(({ data }) => data);
  return { events, chunks: events.slice(0, -1), headers };
}

describe("openai chat stream", () => {
  test("begins with the role, goes word by word, and ends with a reason and [DONE]", async () => {
    const { events, chunks, headers } = await stream({});
    expect(headers.get("x-request-id")).toMatch(/^req_/);
    expect(events.at(-1)).toBe("[DONE]");
    expect(chunks[0]).toEqual({
      id: matching(/^chatcmpl-/),
      object: "chat.completion.chunk",
      created: expect.any(Number) as unknown,
      model: "any",
      service_tier: "default",
      system_fingerprint: "fp_sandbox",
      choices: [
        {
          index: 0,
          delta: { role: "assistant", content: "", refusal: null },
          logprobs: null,
          finish_reason: null,
        },
      ],
    });
    expect(chunks.at(-1)).toMatchObject({ choices: [{ delta: {}, finish_reason: "stop" }] });
    expect(chunks.slice(1, -1).every((chunk) => /^\s?\S+$/.test(String(contentOf(chunk))))).toBe(true);
  });

  test("tells how probable each piece of a text was beside it, to who asks", async () => {
    const { chunks } = await stream({ logprobs: true });
    const told = chunks.flatMap((chunk) => at(chunk, "choices", 0, "logprobs", "content") ?? []);
    expect(told.map((each) => at(each, "token")).join("")).toBe(chunks.map(contentOf).join(""));
    expect(at(chunks.at(-1), "choices", 0, "logprobs")).toBeNull();
  });

  test("usage comes in a chunk of its own when asked for, the same as without a stream", async () => {
    const { events, chunks } = await stream({ stream_options: { include_usage: true } });
    expect(events.at(-1)).toBe("[DONE]");
    expect(chunks.slice(0, -1).every((chunk) => at(chunk, "usage") === null)).toBe(true);
    const { json } = await createTestSandbox().ask("POST", path, { body: { model: "any", messages } });
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: at(json, "usage") });
  });

  test("a long beginning seen before is cached in a stream too", async () => {
    const sandbox = createTestSandbox();
    const long = [{ role: "system", content: "lorem ipsum dolor sit amet ".repeat(300) }, ...messages];
    const body = { messages: long, stream_options: { include_usage: true } };
    await stream(body, sandbox);
    const { chunks } = await stream(body, sandbox);
    expect(at(chunks.at(-1), "usage", "prompt_tokens_details", "cached_tokens")).toBe(1408);
    expect(sandbox.book.read().entries[1]?.billed).toMatchObject({ cached_tokens: 1408 });
  });

  test("obeys max_tokens, stop and n", async () => {
    const cut = await stream({ max_tokens: 5, n: 2, stream_options: { include_usage: true } });
    const finished = cut.chunks.filter((chunk) => at(chunk, "choices", 0, "finish_reason") !== null);
    expect(finished.slice(0, 2)).toMatchObject([
      { choices: [{ index: 0, finish_reason: "length" }] },
      { choices: [{ index: 1, finish_reason: "length" }] },
    ]);
    expect(at(cut.chunks.at(-1), "usage", "completion_tokens")).toBe(10);

    const stopped = await stream({ stop: " cactus" });
    expect(stopped.chunks.map(contentOf).join("")).toMatch(/water a$/);
  });

  test("streams parallel tool calls: id and name first, then arguments in pieces", async () => {
    const asked = [{ role: "user", content: "get_weather and get_time in Rome" }];
    const body = { messages: asked, tools: [tool("get_weather"), tool("get_time")] };
    const { chunks } = await stream(body);
    const deltas = chunks.flatMap((chunk) => at(chunk, "choices", 0, "delta", "tool_calls", 0) ?? []);
    const begun = deltas.filter((delta) => at(delta, "id") !== undefined);
    expect(begun).toMatchObject([
      {
        index: 0,
        id: matching(/^call_/),
        type: "function",
        function: { name: "get_weather", arguments: "" },
      },
      { index: 1, id: matching(/^call_/), type: "function", function: { name: "get_time", arguments: "" } },
    ]);
    for (const index of [0, 1]) {
      const pieces = deltas.filter((delta) => at(delta, "index") === index);
      expect(pieces.length).toBeGreaterThan(2);
      const joined = pieces.map((delta) => String(at(delta, "function", "arguments"))).join("");
      expect(JSON.parse(joined)).toEqual({ city: anyString });
    }
    expect(chunks[0]).toMatchObject({ choices: [{ delta: { role: "assistant", content: null } }] });
    expect(chunks.at(-1)).toMatchObject({ choices: [{ finish_reason: "tool_calls" }] });

    const one = await stream({ ...body, parallel_tool_calls: false });
    expect(JSON.stringify(one.chunks)).not.toContain("get_time");
  });

  test("reasoning is generated before the first word, and counted", async () => {
    const sandbox = createTestSandbox();
    const body = { reasoning_effort: "low", stream_options: { include_usage: true } };
    const { chunks } = await stream(body, sandbox);
    const usage = at(chunks.at(-1), "usage");
    const reasoning = Number(at(usage, "completion_tokens_details", "reasoning_tokens"));
    expect(reasoning).toBeGreaterThan(10);
    expect(sandbox.book.read().entries[0]?.billed).toMatchObject({
      output_tokens: Number(at(usage, "completion_tokens")),
      reasoning_tokens: reasoning,
    });
  });
});

const contentOf = (chunk: unknown): unknown => at(chunk, "choices", 0, "delta", "content");
