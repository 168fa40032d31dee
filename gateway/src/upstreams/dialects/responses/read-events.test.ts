import { describe, expect, test } from "bun:test";
import { responseEvents } from "../../exchanges/responses-events.ts";
import type { ChatEvent } from "../chat.ts";
import { responsesDialect } from "./responses-dialect.ts";
import { markOpenAis } from "./sealed-thoughts.ts";

const read = (...events: readonly object[]): readonly ChatEvent[] => {
  const reader = responsesDialect.createEventReader();
  return events.flatMap((event) => reader({ event: undefined, data: JSON.stringify(event) }));
};

const usage = {
  input_tokens: 10,
  input_tokens_details: { cached_tokens: 4 },
  output_tokens: 5,
  output_tokens_details: { reasoning_tokens: 3 },
};
const used = { input: 6, output: 5, cacheRead: 4, cacheWrite: 0, cacheWrite1h: 0, reasoning: 3 };

const response = {
  id: "resp_1",
  object: "response",
  status: "completed",
  model: "gpt",
  error: null,
  output: [
    { id: "rs_1", type: "reasoning", summary: [], encrypted_content: "sealed" },
    {
      id: "msg_1",
      type: "message",
      content: [
        { type: "output_text", text: "Hello." },
        { type: "refusal", refusal: " No." },
      ],
    },
    { id: "ws_1", type: "web_search_call", status: "completed" },
    { id: "fc_1", type: "function_call", call_id: "c1", name: "f", arguments: '{"a":1}' },
  ],
  usage,
};
const thought = {
  kind: "reasoning",
  text: "",
  redacted: markOpenAis({ id: "rs_1", encrypted_content: "sealed" }),
} as const;

describe("an answer", () => {
  test("whole is its parts, why it ended, and what was used", () => {
    expect(responsesDialect.readAnswer(response)).toEqual({
      id: "resp_1",
      model: "gpt",
      parts: [
        thought,
        { kind: "text", text: "Hello." },
        { kind: "text", text: " No." },
        { kind: "tool_call", id: "c1", name: "f", arguments: '{"a":1}' },
      ],
      stop: "tool_calls",
      stopSequence: undefined,
      usage: used,
    });
  });

  test("in a stream is the same in pieces", () => {
    const events = (responseEvents(response) ?? "").split("\n\n").filter((frame) => frame !== "");
    const said = events.map((frame) => JSON.parse(frame.slice(frame.indexOf("data: ") + 6)) as object);
    expect(read(...said)).toEqual([
      { kind: "start", id: "resp_1", model: "gpt" },
      { ...thought, index: 0 },
      { kind: "part_end", index: 0 },
      { kind: "text", index: 1, text: "Hello." },
      { kind: "text", index: 1, text: " No." },
      { kind: "part_end", index: 1 },
      { kind: "part_end", index: 2 },
      { kind: "tool_call", index: 3, id: "c1", name: "f" },
      { kind: "tool_arguments", index: 3, text: '{"a":1}' },
      { kind: "part_end", index: 3 },
      { kind: "usage", usage: used },
      { kind: "stop", reason: "tool_calls", stopSequence: undefined },
    ]);
  });

  test("whose items come whole is told all the same", () => {
    const done = response.output.map((item, at) => ({
      type: "response.output_item.done",
      output_index: at,
      item,
    }));
    expect(read(...done).filter(({ kind }) => kind !== "part_end")).toEqual([
      { ...thought, index: 0 },
      { kind: "text", index: 1, text: "Hello." },
      { kind: "text", index: 1, text: " No." },
      { kind: "tool_call", index: 3, id: "c1", name: "f" },
      { kind: "tool_arguments", index: 3, text: '{"a":1}' },
    ]);
  });
});

test.each([
  ["incomplete", { reason: "max_output_tokens" }, "length"],
  ["incomplete", { reason: "content_filter" }, "filtered"],
  ["failed", null, "filtered"],
  ["completed", null, "end"],
] as const)("why it ended: %s %p", (status, incomplete_details, stop) => {
  const ended = { ...response, output: [], status, incomplete_details };
  expect(responsesDialect.readAnswer(ended).stop).toBe(stop);
});

test("an error is told wherever it stands", () => {
  const error = { code: "busy", message: "Busy." };
  const told = { kind: "error", type: "server_error", code: "busy", message: "Busy." } as const;
  expect(read({ type: "error", ...error })).toEqual([told]);
  expect(read({ type: "error", error })).toEqual([told]);
  expect(read({ type: "response.failed", response: { error, usage } })).toEqual([
    { kind: "usage", usage: used },
    told,
  ]);
  expect(read({ type: "response.failed" })).toMatchObject([{ kind: "error" }]);
});

test("what cannot be understood is passed over", () => {
  const reader = responsesDialect.createEventReader();
  for (const data of ["", "[DONE]", "{", "5", "null", '{"type":5}', '{"type":"response.output_item.done"}']) {
    expect(reader({ event: undefined, data }).filter(({ kind }) => kind !== "part_end")).toEqual([]);
  }
  expect(read({ type: "response.function_call_arguments.delta", output_index: 4, delta: "{}" })).toEqual([]);
  expect(responsesDialect.readAnswer("x").parts).toEqual([]);
});
