import { expect, test } from "bun:test";
import type { Message, TextBlock } from "@anthropic-ai/sdk/resources/messages";
import fc from "fast-check";
import type { ChatAnswer, ChatUsage, StopReason } from "../chat.ts";
import { marked } from "../marks.ts";
import { anthropicDialect } from "./anthropic-dialect.ts";
import { context, expressibleAnswer, plainAnswer } from "./test-chat-samples.ts";

const { readAnswer, writeAnswer } = anthropicDialect;

test("an answer is written with every member that Anthropic's types promise", () => {
  const answer: ChatAnswer = {
    ...plainAnswer,
    parts: [
      { kind: "reasoning", text: "Hm" },
      { kind: "reasoning", text: "", redacted: "opaque" },
      { kind: "text", text: "Hi" },
      { kind: "tool_call", id: "call_1", name: "f", arguments: '{"a":1}' },
    ],
    stop: "tool_calls",
    usage: { input: 10, output: 50, cacheRead: 3, cacheWrite: 20, cacheWrite1h: 7, reasoning: 40 },
  };
  const promised: Message = {
    id: "msg_theirs",
    type: "message",
    role: "assistant",
    model: "the-model",
    diagnostics: null,
    content: [
      { type: "thinking", thinking: "Hm", signature: marked("unsigned") },
      { type: "redacted_thinking", data: "opaque" },
      // The API leaves citations out where there are none, whatever the type says; the AI SDK refuses a null.
      { type: "text", text: "Hi" } as TextBlock,
      { type: "tool_use", id: "call_1", name: "f", input: { a: 1 }, caller: { type: "direct" } },
    ],
    stop_reason: "tool_use",
    stop_sequence: null,
    stop_details: null,
    container: null,
    usage: {
      input_tokens: 10,
      output_tokens: 50,
      cache_read_input_tokens: 3,
      cache_creation_input_tokens: 27,
      cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 7 },
      output_tokens_details: { thinking_tokens: 40 },
      server_tool_use: null,
      service_tier: null,
      inference_geo: null,
      speed: null,
    },
  };
  expect<unknown>(writeAnswer(answer, context)).toStrictEqual(promised);
});

test("an id that is not Anthropic's gives way to ours", () => {
  const idOf = (id: string | undefined, ours: string): unknown =>
    writeAnswer({ ...plainAnswer, id }, { ...context, id: ours })["id"];
  expect(idOf("chatcmpl-1", "msg_ours")).toBe("msg_ours");
  expect(idOf(undefined, "req-1")).toBe("msg_req-1");
});

test("an answer without usage is written with zeros", () => {
  expect(writeAnswer({ ...plainAnswer, usage: undefined }, context)["usage"]).toMatchObject({
    input_tokens: 0,
    output_tokens: 0,
    output_tokens_details: null,
  });
});

test("every reason to stop is understood, also one that is yet to come", () => {
  const reasons: Record<string, StopReason> = {
    end_turn: "end",
    max_tokens: "length",
    stop_sequence: "stop_sequence",
    tool_use: "tool_calls",
    pause_turn: "end",
    refusal: "refusal",
    model_context_window_exceeded: "length",
    something_new: "end",
  };
  for (const [stop_reason, stop] of Object.entries(reasons))
    expect(readAnswer({ stop_reason }).stop).toBe(stop);
});

test("a filtered answer is a refusal", () => {
  expect(writeAnswer({ ...plainAnswer, stop: "filtered" }, context)["stop_reason"]).toBe("refusal");
});

test("arguments that are no JSON object are handed on whole, and never throw", () => {
  const write = (args: string): unknown =>
    writeAnswer(
      { ...plainAnswer, parts: [{ kind: "tool_call", id: "1", name: "f", arguments: args }] },
      context,
    );
  expect(write('{"a":')).toMatchObject({ content: [{ input: { _raw: '{"a":' } }] });
  expect(write("")).toMatchObject({ content: [{ input: {} }] });
  const deep = `{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
  const wide = `{"a":[1790000000000000001${",1".repeat(100_000)}]}`;
  for (const args of [deep, wide])
    expect(write(args)).toMatchObject({ content: [{ input: { _raw: args } }] });
});

test("an image becomes text that shows it, and what says nothing is left out", () => {
  const parts = [
    { kind: "text", text: "" },
    { kind: "reasoning", text: "" },
    { kind: "image", source: { mimeType: "image/png", base64: "AAAA" } },
  ] as const;
  expect(writeAnswer({ ...plainAnswer, parts }, context)["content"]).toEqual([
    { type: "text", text: "![image](data:image/png;base64,AAAA)" },
  ]);
});

const usageOf = (usage: unknown): ChatUsage | undefined => readAnswer({ usage }).usage;

test("usage is read into disjoint counts, whose sum is what was reported", () => {
  expect(
    usageOf({
      input_tokens: 10,
      cache_creation_input_tokens: 27,
      cache_read_input_tokens: 3,
      cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 7 },
      output_tokens: 50,
      output_tokens_details: { thinking_tokens: 40 },
    }),
  ).toEqual({ input: 10, output: 50, cacheRead: 3, cacheWrite: 20, cacheWrite1h: 7, reasoning: 40 });
});

test("nulls count nothing, a split without a total is enough, and so is a total without a split", () => {
  const none = { input: 1, output: 2, cacheRead: 0, cacheWrite: 0, cacheWrite1h: 0, reasoning: undefined };
  const said = { input_tokens: 1, output_tokens: 2 };
  const nulls = { cache_creation_input_tokens: null, cache_read_input_tokens: null, cache_creation: null };
  expect(usageOf({ ...said, ...nulls, output_tokens_details: null })).toEqual(none);
  expect(usageOf({ ...said, cache_creation_input_tokens: 9 })).toEqual({ ...none, cacheWrite: 9 });
  expect(
    usageOf({ ...said, cache_creation: { ephemeral_5m_input_tokens: 4, ephemeral_1h_input_tokens: 5 } }),
  ).toEqual({ ...none, cacheWrite: 4, cacheWrite1h: 5 });
});

test("an hour's share beyond the total is not counted twice", () => {
  expect(
    usageOf({
      input_tokens: 0,
      output_tokens: 0,
      cache_creation_input_tokens: 5,
      cache_creation: { ephemeral_1h_input_tokens: 9 },
    }),
  ).toMatchObject({ cacheWrite: 0, cacheWrite1h: 5 });
});

test("usage that was not told is unknown, not zero", () => {
  for (const usage of [undefined, null, {}, "x", { input_tokens: "many" }])
    expect(usageOf(usage)).toBeUndefined();
});

test("an answer is taken as it comes, whatever it is", () => {
  fc.assert(fc.property(fc.anything(), (json) => expect(readAnswer(json).parts).toBeArray()));
  expect(
    readAnswer({ content: [null, 1, { type: "server_tool_use" }, { type: "tool_use" }, {}] }).parts,
  ).toEqual([{ kind: "tool_call", id: "", name: "", arguments: "{}" }]);
});

test("whatever can be expressed is read back as it was written", () => {
  fc.assert(
    fc.property(expressibleAnswer, (answer) => {
      expect(readAnswer(JSON.parse(JSON.stringify(writeAnswer(answer, context))))).toEqual(answer);
    }),
  );
});
