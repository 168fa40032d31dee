import { expect, test } from "bun:test";
import type { ChatEvent } from "../chat.ts";
import { marked } from "../marks.ts";
import { openaiDialect } from "./openai-dialect.ts";

function write(events: readonly ChatEvent[], includeUsage = false): readonly unknown[] {
  const context = { id: "chatcmpl-1", model: "m", createdSeconds: 1, includeUsage };
  const writer = openaiDialect.createEventWriter(context);
  const sent = [...events.flatMap(writer.write), ...writer.end()];
  expect(sent.every(({ event }) => event === undefined)).toBe(true);
  return sent.map(({ data }) => (data === "[DONE]" ? data : (JSON.parse(data) as unknown)));
}
const head = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "m" };
const chunk = (delta: object, finish_reason: string | null = null): object => ({
  ...head,
  choices: [{ index: 0, delta, logprobs: null, finish_reason }],
});
const start: ChatEvent = { kind: "start", id: "msg_1", model: "claude" };
const stop: ChatEvent = { kind: "stop", reason: "end", stopSequence: undefined };
const usage = { input: 1, output: 2, cacheRead: 3, cacheWrite: 0, cacheWrite1h: 0, reasoning: undefined };

test("a plain answer is written as OpenAI writes it", () => {
  const events: ChatEvent[] = [
    start,
    { kind: "usage", usage },
    { kind: "text", index: 0, text: "hi" },
    { kind: "part_end", index: 0 },
    stop,
  ];
  expect(write(events)).toEqual([
    chunk({ role: "assistant", content: "", refusal: null }),
    chunk({ content: "hi" }),
    chunk({}, "stop"),
    "[DONE]",
  ]);
});

test("who asked for usage sees null in every chunk and the last figures in one of their own", () => {
  const earlier = { ...usage, output: 0 };
  const events: ChatEvent[] = [start, { kind: "usage", usage: earlier }, stop, { kind: "usage", usage }];
  expect(write(events, true)).toEqual([
    { ...chunk({ role: "assistant", content: "", refusal: null }), usage: null },
    { ...chunk({}, "stop"), usage: null },
    {
      ...head,
      choices: [],
      usage: {
        prompt_tokens: 4,
        completion_tokens: 2,
        total_tokens: 6,
        prompt_tokens_details: { cached_tokens: 3 },
      },
    },
    "[DONE]",
  ]);
  expect(write([start, stop], true).at(-2)).toEqual({ ...chunk({}, "stop"), usage: null });
});

test("calls are numbered among themselves, whatever parts stand between them", () => {
  const events: ChatEvent[] = [
    start,
    { kind: "reasoning", index: 0, text: "hm", signature: "s" },
    { kind: "tool_call", index: 1, id: "a", name: "f" },
    { kind: "text", index: 2, text: "and" },
    { kind: "tool_call", index: 3, id: "b", name: "g", signature: "t" },
    { kind: "tool_arguments", index: 3, text: "[]" },
    { kind: "tool_arguments", index: 1, text: "{}" },
    { kind: "stop", reason: "tool_calls", stopSequence: undefined },
  ];
  const begun = (index: number, id: string, name: string): object => ({
    index,
    id,
    type: "function",
    function: { name, arguments: "" },
  });
  const token = { extra_content: { google: { thought_signature: marked("gemini", "t") } } };
  expect(write(events)).toEqual([
    chunk({ role: "assistant", content: null, refusal: null }),
    chunk({ reasoning_content: "hm" }),
    chunk({ tool_calls: [begun(0, "a", "f")] }),
    chunk({ content: "and" }),
    chunk({ tool_calls: [{ ...begun(1, "b", "g"), ...token }] }),
    chunk({ tool_calls: [{ index: 1, function: { arguments: "[]" } }] }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: "{}" } }] }),
    chunk({}, "tool_calls"),
    "[DONE]",
  ]);
});

test("what has nothing to show writes nothing", () => {
  const events: ChatEvent[] = [
    start,
    { kind: "reasoning", index: 0, text: "", signature: "s" },
    { kind: "text", index: 1, text: "" },
    { kind: "tool_arguments", index: 7, text: "{}" },
  ];
  expect(write(events)).toEqual(["[DONE]"]);
});

test("a vendor's id of this dialect is kept in every chunk", () => {
  const sent = write([{ ...start, id: "chatcmpl-theirs" }, stop]);
  expect(sent).toMatchObject([{ id: "chatcmpl-theirs" }, { id: "chatcmpl-theirs" }, "[DONE]"]);
});

test("after an error nothing follows, not even that it is done", () => {
  const events: ChatEvent[] = [start, { kind: "usage", usage }, { kind: "error", type: "t", message: "m" }];
  expect(write(events, true)).toEqual([{ error: { message: "m", type: "t", param: null, code: null } }]);
});
