import { expect, test } from "bun:test";
import type { MessageStreamEvent } from "@anthropic-ai/sdk/resources/messages";
import type { ChatEvent } from "../chat.ts";
import type { SseEvent } from "../dialect.ts";
import { anthropicDialect } from "./anthropic-dialect.ts";
import { context } from "./test-chat-samples.ts";

function writeAll(events: readonly ChatEvent[]): SseEvent[] {
  const writer = anthropicDialect.createEventWriter(context);
  return [...events.flatMap((event) => writer.write(event)), ...writer.end()];
}

const dataOf = (events: readonly SseEvent[]): unknown[] =>
  events.map(({ data }) => JSON.parse(data) as unknown);

const start: ChatEvent = { kind: "start", id: "chatcmpl-1", model: "gpt" };
const stop: ChatEvent = { kind: "stop", reason: "end", stopSequence: undefined };
const usage = { input: 10, output: 5, cacheRead: 2, cacheWrite: 0, cacheWrite1h: 0, reasoning: undefined };
const callStart = (index: number): ChatEvent => ({
  kind: "tool_call",
  index,
  id: `call_${index}`,
  name: "f",
});
const args = (index: number, text: string): ChatEvent => ({ kind: "tool_arguments", index, text });

test("a stream has the events that Anthropic sends, each under its name", () => {
  const written = writeAll([
    start,
    { kind: "reasoning", index: 0, text: "Hm" },
    { kind: "reasoning", index: 0, text: "", signature: "sig" },
    { kind: "part_end", index: 0 },
    { kind: "text", index: 1, text: "Hi" },
    { kind: "text", index: 1, text: "!" },
    { kind: "part_end", index: 1 },
    callStart(2),
    args(2, '{"a":1}'),
    { kind: "part_end", index: 2 },
    { kind: "stop", reason: "tool_calls", stopSequence: undefined },
    { kind: "usage", usage },
  ]);
  const data = dataOf(written);
  expect(written.map(({ event }) => event)).toEqual(data.map((one) => (one as { type: string }).type));
  expect(data).toMatchObject([
    { type: "message_start" },
    {
      type: "content_block_start",
      index: 0,
      content_block: { type: "thinking", thinking: "", signature: "" },
    },
    { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "Hm" } },
    { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "sig" } },
    { type: "content_block_stop", index: 0 },
    { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "Hi" } },
    { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "!" } },
    { type: "content_block_stop", index: 1 },
    {
      type: "content_block_start",
      index: 2,
      content_block: { type: "tool_use", id: "call_2", name: "f", input: {} },
    },
    { type: "content_block_delta", index: 2, delta: { type: "input_json_delta", partial_json: '{"a":1}' } },
    { type: "content_block_stop", index: 2 },
    { type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null } },
    { type: "message_stop" },
  ]);
});

test("usage that comes at the end is zeros in message_start and the figures in message_delta", () => {
  const data = dataOf(
    writeAll([start, { kind: "text", index: 0, text: "Hi" }, stop, { kind: "usage", usage }]),
  );
  const first: MessageStreamEvent = {
    type: "message_start",
    message: {
      id: "msg_ours",
      type: "message",
      role: "assistant",
      model: "the-model",
      diagnostics: null,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      stop_details: null,
      container: null,
      usage: {
        input_tokens: 0,
        output_tokens: 0,
        cache_read_input_tokens: 0,
        cache_creation_input_tokens: 0,
        cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
        output_tokens_details: null,
        server_tool_use: null,
        service_tier: null,
        inference_geo: null,
        speed: null,
      },
    },
  };
  const last: MessageStreamEvent = {
    type: "message_delta",
    delta: { stop_reason: "end_turn", stop_sequence: null, stop_details: null, container: null },
    usage: {
      input_tokens: 10,
      output_tokens: 5,
      cache_read_input_tokens: 2,
      cache_creation_input_tokens: 0,
      output_tokens_details: null,
      server_tool_use: null,
    },
  };
  expect(data[0]).toStrictEqual(first);
  expect(data.at(-2)).toStrictEqual(last);
});

test("usage that is known before the content stands in message_start", () => {
  const [first] = dataOf(
    writeAll([start, { kind: "usage", usage }, { kind: "text", index: 0, text: "Hi" }, stop]),
  );
  expect(first).toMatchObject({ message: { usage: { input_tokens: 10, cache_read_input_tokens: 2 } } });
});

test("an answer without content is still a whole message", () => {
  expect(writeAll([start, stop]).map(({ event }) => event)).toEqual([
    "message_start",
    "message_delta",
    "message_stop",
  ]);
});

test("parallel calls whose pieces come mixed are written one after the other", () => {
  const orders = [
    [callStart(0), callStart(1), args(0, "{"), args(1, "["), args(0, "}"), args(1, "]"), stop],
    [
      callStart(0),
      callStart(1),
      callStart(2),
      args(1, "["),
      args(0, "{}"),
      { kind: "part_end", index: 0 },
      args(1, "]"),
    ],
  ] as const;
  for (const events of orders) {
    const data = dataOf(writeAll([start, ...events, stop])) as {
      index?: number;
      delta?: { partial_json?: string };
    }[];
    const indexes = data.flatMap(({ index }) => index ?? []);
    expect(indexes).toEqual(indexes.toSorted((a, b) => a - b));
    const texts = ["", "", ""];
    for (const { index, delta } of data) if (index !== undefined) texts[index] += delta?.partial_json ?? "";
    expect(texts.slice(0, 2)).toEqual(["{}", "[]"]);
  }
});

test("text that another part interrupts goes on in a block of its own", () => {
  const data = dataOf(
    writeAll([
      { kind: "text", index: 0, text: "a" },
      { kind: "reasoning", index: 1, text: "b" },
      { kind: "text", index: 0, text: "c" },
      stop,
    ]),
  );
  expect(data.filter((one) => (one as { type: string }).type === "content_block_start")).toMatchObject([
    { index: 0, content_block: { type: "text" } },
    { index: 1, content_block: { type: "thinking" } },
    { index: 2, content_block: { type: "text" } },
  ]);
});

test("after an error nothing more is said, and its type is one that Anthropic's clients know", () => {
  const failed = (type: string): unknown[] =>
    dataOf(
      writeAll([{ kind: "text", index: 0, text: "a" }, { kind: "error", type, message: "No" }, stop]),
    ).slice(3);
  expect(failed("overloaded_error")).toEqual([
    { type: "error", error: { type: "overloaded_error", message: "No" } },
  ]);
  expect(failed("RESOURCE_EXHAUSTED")).toMatchObject([{ error: { type: "api_error" } }]);
});

test("an answer that broke off does not look whole", () => {
  const events = writeAll([start, { kind: "text", index: 0, text: "a" }]).map(({ event }) => event);
  expect(events.at(-1)).toBe("error");
  expect(events).not.toContain("message_stop");
});
