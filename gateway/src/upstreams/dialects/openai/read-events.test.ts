import { expect, test } from "bun:test";
import type { ChatEvent } from "../chat.ts";
import { openaiDialect } from "./openai-dialect.ts";

function read(...chunks: readonly unknown[]): readonly ChatEvent[] {
  const reader = openaiDialect.createEventReader();
  return chunks.flatMap((chunk) =>
    reader({ event: undefined, data: typeof chunk === "string" ? chunk : JSON.stringify(chunk) }),
  );
}
const delta = (members: object, finish_reason: string | null = null): object => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  obfuscation: "aB3",
  usage: null,
  choices: [{ index: 0, delta: members, logprobs: null, finish_reason }],
});
const piece = (index: number, text: string, call: { id?: string; name?: string } = {}): object => ({
  index,
  ...(call.id === undefined ? {} : { id: call.id, type: "function" }),
  function: { ...(call.name === undefined ? {} : { name: call.name }), arguments: text },
});
const start: ChatEvent = { kind: "start", id: "chatcmpl-1", model: "m" };
const ended = (index: number): ChatEvent => ({ kind: "part_end", index });
const stop = (reason: "end" | "tool_calls" | "refusal"): ChatEvent => ({
  kind: "stop",
  reason,
  stopSequence: undefined,
});

test("a plain answer is read from its role to its usage", () => {
  const usage = { prompt_tokens: 2, completion_tokens: 3, total_tokens: 5 };
  const events = read(
    delta({ role: "assistant", content: "", refusal: null }),
    delta({ content: "he" }),
    delta({ content: "y" }),
    delta({}, "stop"),
    { id: "chatcmpl-1", choices: [], usage },
    "[DONE]",
  );
  expect(events).toEqual([
    start,
    { kind: "text", index: 0, text: "he" },
    { kind: "text", index: 0, text: "y" },
    ended(0),
    stop("end"),
    {
      kind: "usage",
      usage: { input: 2, output: 3, cacheRead: 0, cacheWrite: 0, cacheWrite1h: 0, reasoning: undefined },
    },
  ]);
});

test("usage is read from the last choice, where Moonshot says it", () => {
  const usage = { prompt_tokens: 1_336, completion_tokens: 31, cached_tokens: 1_280 };
  const last = { index: 0, delta: {}, finish_reason: "stop", usage };
  const events = read(
    delta({ role: "assistant", content: "hey" }),
    { id: "chatcmpl-1", choices: [last] },
    "[DONE]",
  );
  expect(events.find(({ kind }) => kind === "usage")).toMatchObject({
    usage: { input: 56, cacheRead: 1_280, output: 31 },
  });
});

test("an empty finish reason, as some servers send in every piece, ends nothing", () => {
  const events = read(
    delta({ content: "so" }, ""),
    delta({ tool_calls: [piece(0, "{}", { id: "a", name: "f" })] }, ""),
    delta({}, "tool_calls"),
  );
  expect(events.filter(({ kind }) => kind === "stop")).toEqual([stop("tool_calls")]);
  expect(read(delta({ content: "so" }, "")).some(({ kind }) => kind === "stop")).toBe(false);
});

test("thinking ends where text begins, and text where a call begins", () => {
  const events = read(
    delta({ role: "assistant", reasoning_content: "hm" }),
    delta({ content: "so" }),
    delta({ tool_calls: [piece(0, "{}", { id: "a", name: "f" })] }),
    delta({}, "tool_calls"),
  );
  expect(events).toEqual([
    start,
    { kind: "reasoning", index: 0, text: "hm" },
    ended(0),
    { kind: "text", index: 1, text: "so" },
    ended(1),
    { kind: "tool_call", index: 2, id: "a", name: "f" },
    { kind: "tool_arguments", index: 2, text: "{}" },
    ended(2),
    stop("tool_calls"),
  ]);
});

test("so does what Mistral thinks among the parts of its content", () => {
  const thought = (text: string) => ({ type: "thinking", thinking: [{ type: "text", text }] });
  const events = read(
    delta({ role: "assistant", content: "" }),
    delta({ content: [thought("h")] }),
    delta({ content: [thought("m"), { type: "text", text: "s" }] }),
    delta({ content: "o" }, "stop"),
  );
  expect(events).toEqual([
    start,
    { kind: "reasoning", index: 0, text: "h" },
    { kind: "reasoning", index: 0, text: "m" },
    ended(0),
    { kind: "text", index: 1, text: "s" },
    { kind: "text", index: 1, text: "o" },
    ended(1),
    stop("end"),
  ]);
});

test("fragments of parallel calls find their call in whatever order they come", () => {
  const events = read(
    delta({ tool_calls: [piece(0, "", { id: "a", name: "f" }), piece(1, "", { id: "b", name: "g" })] }),
    delta({ tool_calls: [piece(1, "[")] }),
    delta({ tool_calls: [piece(0, "{"), piece(1, "]")] }),
    delta({ tool_calls: [piece(0, "}")] }, "tool_calls"),
  );
  expect(events).toEqual([
    start,
    { kind: "tool_call", index: 0, id: "a", name: "f" },
    { kind: "tool_call", index: 1, id: "b", name: "g" },
    { kind: "tool_arguments", index: 1, text: "[" },
    { kind: "tool_arguments", index: 0, text: "{" },
    { kind: "tool_arguments", index: 1, text: "]" },
    { kind: "tool_arguments", index: 0, text: "}" },
    ended(0),
    ended(1),
    stop("tool_calls"),
  ]);
});

test("calls that all carry the number 0, or none, are told apart by their ids", () => {
  const unnumbered = (id: string): object => ({ id, function: { name: "f", arguments: "{}" } });
  for (const make of [unnumbered, (id: string) => ({ ...unnumbered(id), index: 0 })]) {
    const events = read(delta({ tool_calls: [make("a")] }), delta({ tool_calls: [make("b")] }, "stop"));
    expect(events.flatMap((event) => (event.kind === "tool_call" ? [event.id] : []))).toEqual(["a", "b"]);
    expect(events.at(-1)).toEqual(stop("tool_calls"));
  }
});

test("calls without ids are told apart by their names and by where their arguments end", () => {
  const call = (name: string, text: string) => ({ function: { name, arguments: text } });
  const told = (...calls: readonly object[]): readonly unknown[] =>
    read(...calls.map((one) => delta({ tool_calls: [one] })), delta({}, "tool_calls")).filter(
      ({ kind }) => kind === "tool_call" || kind === "tool_arguments",
    );
  const made = (index: number, name: string): object => ({
    kind: "tool_call",
    index,
    id: `call_chatcmpl1_${index}`,
    name,
  });
  const given = (index: number, text: string): object => ({ kind: "tool_arguments", index, text });
  for (const number of [{}, { index: 0 }]) {
    const rome = { ...number, ...call("f", '{"city":"Rome}"}') };
    const oslo = { ...number, ...call("f", '{"city":["Oslo"]}') };
    const apart = [made(0, "f"), given(0, '{"city":"Rome}"}'), made(1, "f"), given(1, '{"city":["Oslo"]}')];
    expect(told(rome, oslo)).toEqual(apart);
    // In one piece of the stream, too.
    const together = read(delta({ tool_calls: [rome, oslo] }));
    expect(together.slice(1)).toEqual(apart as ChatEvent[]);
    expect(told({ ...number, ...call("f", "") }, { ...number, ...call("g", "") })).toEqual([
      made(0, "f"),
      made(1, "g"),
    ]);
    // A vendor that says the name with every piece still makes one call.
    const pieces = ['{"a":', '{"b":"}"', "}}", ""].map((text) => ({ ...number, ...call("f", text) }));
    expect(told(...pieces)).toEqual([made(0, "f"), given(0, '{"a":'), given(0, '{"b":"}"'), given(0, "}}")]);
  }
});

test("a call is told when its name is known, with the arguments that came before", () => {
  const events = read(
    delta({ tool_calls: [{ index: 0, function: { arguments: "{" } }] }),
    delta({ tool_calls: [piece(0, "}", { name: "f" })] }, "tool_calls"),
  );
  expect(events.slice(1, 3)).toEqual([
    { kind: "tool_call", index: 0, id: "call_chatcmpl1_0", name: "f" },
    { kind: "tool_arguments", index: 0, text: "{}" },
  ]);
});

test("a refusal is text, and the answer ends as one", () => {
  const events = read(delta({ refusal: "no" }), delta({}, "stop"));
  expect(events).toEqual([start, { kind: "text", index: 0, text: "no" }, ended(0), stop("refusal")]);
});

test("an error in the middle of a stream is told, in whatever form it comes", () => {
  const error = { message: "overloaded", type: "server_error", code: null };
  expect(read(delta({ content: "a" }), { error }).at(-1)).toEqual({
    kind: "error",
    type: "server_error",
    message: "overloaded",
  });
  expect(read({ error: "boom" })).toEqual([{ kind: "error", type: "server_error", message: "boom" }]);
  expect(read({ error: { code: 429 } })).toMatchObject([{ kind: "error", type: "server_error" }]);
});

test("a stream that is done without a finish reason has ended; one that breaks off has not", () => {
  expect(read(delta({ content: "a" }), "[DONE]").slice(-2)).toEqual([ended(0), stop("end")]);
  expect(read(delta({ content: "a" })).at(-1)).toEqual({ kind: "text", index: 0, text: "a" });
  expect(read("[DONE]")).toEqual([]);
});

test("a finish reason told twice stops once", () => {
  const events = read(delta({ content: "a" }), delta({}, "stop"), delta({}, "stop"), "[DONE]");
  expect(events.filter(({ kind }) => kind === "stop")).toHaveLength(1);
});

test("several choices are told beside each other, and the answer stops with the last", () => {
  const of = (index: number, members: object, finish_reason: string | null = null): object => ({
    choices: [{ index, delta: members, finish_reason }],
  });
  const events = read(
    of(0, { content: "a" }),
    of(1, { content: "b" }),
    of(0, {}, "stop"),
    of(1, {}, "length"),
  );
  expect(events.slice(1)).toEqual([
    { kind: "text", index: 0, text: "a" },
    { kind: "text", index: 1, text: "b" },
    ended(0),
    ended(1),
    stop("end"),
  ]);
});

test("what is not a chunk says nothing, and Azure's first chunk does not begin the answer", () => {
  expect(
    read("", "ping", "[]", "7", "{", { id: "", model: "", choices: [], prompt_filter_results: [] }),
  ).toEqual([]);
});
