import { expect, test } from "bun:test";
import fc from "fast-check";
import type { JsonObject } from "../../../platform/json.ts";
import type { ChatEvent } from "../chat.ts";
import { anthropicDialect } from "./anthropic-dialect.ts";
import { sse } from "./sse.ts";

function readAll(...events: (readonly [type: string, members: JsonObject])[]): ChatEvent[] {
  const read = anthropicDialect.createEventReader();
  return events.flatMap(([type, members]) => read(sse(type, members)));
}

const blockStart = (index: number, content_block: JsonObject) =>
  ["content_block_start", { index, content_block }] as const;
const blockDelta = (index: number, delta: JsonObject) => ["content_block_delta", { index, delta }] as const;
const blockStop = (index: number) => ["content_block_stop", { index }] as const;

test("a stream as Anthropic sends it is read piece by piece", () => {
  const usage = {
    input_tokens: 849,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 7,
    output_tokens: 10,
  };
  const counted = { input: 849, cacheRead: 7, cacheWrite: 0, cacheWrite1h: 0, reasoning: undefined };
  expect(
    readAll(
      ["message_start", { message: { id: "msg_1", model: "claude", usage } }],
      blockStart(0, { type: "thinking", thinking: "", signature: "" }),
      blockDelta(0, { type: "thinking_delta", thinking: "Hm" }),
      blockDelta(0, { type: "signature_delta", signature: "sig" }),
      blockStop(0),
      ["ping", {}],
      blockStart(1, { type: "text", text: "" }),
      blockDelta(1, { type: "text_delta", text: "Hi" }),
      blockDelta(1, { type: "citations_delta", citation: {} }),
      blockStop(1),
      blockStart(2, { type: "tool_use", id: "toolu_1", name: "f", input: {} }),
      blockDelta(2, { type: "input_json_delta", partial_json: "" }),
      blockDelta(2, { type: "input_json_delta", partial_json: '{"a"' }),
      blockDelta(2, { type: "input_json_delta", partial_json: ":1}" }),
      blockStop(2),
      [
        "message_delta",
        { delta: { stop_reason: "tool_use", stop_sequence: null }, usage: { output_tokens: 47 } },
      ],
      ["message_stop", {}],
    ),
  ).toEqual([
    { kind: "start", id: "msg_1", model: "claude" },
    { kind: "usage", usage: { ...counted, output: 10 } },
    { kind: "reasoning", index: 0, text: "Hm" },
    { kind: "reasoning", index: 0, text: "", signature: "sig" },
    { kind: "part_end", index: 0 },
    { kind: "text", index: 1, text: "Hi" },
    { kind: "part_end", index: 1 },
    { kind: "tool_call", index: 2, id: "toolu_1", name: "f" },
    { kind: "tool_arguments", index: 2, text: '{"a"' },
    { kind: "tool_arguments", index: 2, text: ":1}" },
    { kind: "part_end", index: 2 },
    { kind: "usage", usage: { ...counted, output: 47 } },
    { kind: "stop", reason: "tool_calls", stopSequence: undefined },
  ]);
});

test("later figures replace earlier ones one by one, and nulls replace nothing", () => {
  const first = {
    input_tokens: 5,
    cache_read_input_tokens: 3,
    cache_creation_input_tokens: 9,
    cache_creation: { ephemeral_5m_input_tokens: 2, ephemeral_1h_input_tokens: 7 },
    output_tokens: 1,
  };
  const last = {
    input_tokens: 6,
    cache_read_input_tokens: null,
    cache_creation_input_tokens: null,
    output_tokens: 20,
    output_tokens_details: { thinking_tokens: 8 },
  };
  const read = readAll(
    ["message_start", { message: { usage: first } }],
    ["message_delta", { delta: {}, usage: last }],
  );
  expect(read.at(-1)).toEqual({
    kind: "usage",
    usage: { input: 6, output: 20, cacheRead: 3, cacheWrite: 2, cacheWrite1h: 7, reasoning: 8 },
  });
});

test("a call without arguments, or with all of them at its start, has them when it ends", () => {
  expect(
    readAll(
      blockStart(0, { type: "tool_use", id: "1", name: "f", input: {} }),
      blockStop(0),
      blockStart(1, { type: "tool_use", id: "2", name: "f", input: { a: 1 } }),
      blockStop(1),
    ),
  ).toEqual([
    { kind: "tool_call", index: 0, id: "1", name: "f" },
    { kind: "tool_arguments", index: 0, text: "{}" },
    { kind: "part_end", index: 0 },
    { kind: "tool_call", index: 1, id: "2", name: "f" },
    { kind: "tool_arguments", index: 1, text: '{"a":1}' },
    { kind: "part_end", index: 1 },
  ]);
});

test("blocks that are not read leave no gap in the numbers", () => {
  expect(
    readAll(
      blockStart(0, { type: "server_tool_use", id: "s", name: "web_search", input: {} }),
      blockDelta(0, { type: "input_json_delta", partial_json: "{}" }),
      blockStop(0),
      blockStart(1, { type: "text", text: "" }),
      blockStop(1),
      blockStart(2, { type: "redacted_thinking", data: "opaque" }),
      blockStop(2),
    ),
  ).toEqual([
    { kind: "reasoning", index: 0, text: "", redacted: "opaque" },
    { kind: "part_end", index: 0 },
  ]);
});

test("a message that stops without a reason has ended; one that gave a reason, failed or never began says no more", () => {
  const began = ["message_start", { message: {} }] as const;
  const silent = ["message_delta", { delta: { stop_reason: null } }] as const;
  const stops = ["message_stop", {}] as const;
  const call = blockStart(0, { type: "tool_use", id: "1", name: "f", input: {} });
  const stop = { kind: "stop", stopSequence: undefined } as const;
  expect(readAll(began, silent, stops).slice(1)).toEqual([{ ...stop, reason: "end" }]);
  expect(readAll(began, call, silent, stops, stops).slice(2)).toEqual([{ ...stop, reason: "tool_calls" }]);

  const cut = ["message_delta", { delta: { stop_reason: "max_tokens" } }] as const;
  expect(readAll(began, cut, stops).slice(1)).toEqual([{ ...stop, reason: "length" }]);
  expect(readAll(began, ["error", {}], stops).slice(1)).toMatchObject([{ kind: "error" }]);
  expect(readAll(stops)).toEqual([]);
});

test("an error in the middle is told with its type", () => {
  expect(readAll(["error", { error: { type: "overloaded_error", message: "Overloaded" } }])).toEqual([
    { kind: "error", type: "overloaded_error", message: "Overloaded" },
  ]);
  expect(readAll(["error", {}])).toMatchObject([{ kind: "error", type: "api_error" }]);
});

test("events are taken as they come, whatever they are", () => {
  const types = [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
  ];
  const event = fc.record({
    event: fc.constantFrom(...types, undefined),
    data: fc.oneof(fc.json(), fc.string()),
  });
  fc.assert(
    fc.property(fc.array(event), (events) => {
      const read = anthropicDialect.createEventReader();
      for (const one of events) expect(read(one)).toBeArray();
    }),
  );
});
