import { expect, test } from "bun:test";
import type { ChatEvent } from "../chat.ts";
import { marked } from "../marks.ts";
import { geminiDialect } from "./gemini-dialect.ts";

const context = { id: "ours", model: "listed", createdSeconds: 0, includeUsage: false };

function read(...chunks: readonly unknown[]): ChatEvent[] {
  const reader = geminiDialect.createEventReader();
  return chunks.flatMap((chunk) => reader({ event: undefined, data: JSON.stringify(chunk) }));
}
function write(...events: readonly ChatEvent[]): unknown[] {
  const writer = geminiDialect.createEventWriter(context);
  return [...events.flatMap(writer.write), ...writer.end()].map(({ data }): unknown => JSON.parse(data));
}
const chunk = (parts: readonly unknown[], more: object = {}): object => ({
  candidates: [{ content: { role: "model", parts }, index: 0, ...more }],
  responseId: "r",
  modelVersion: "m",
});
const usage = { input: 1, output: 2, cacheRead: 0, cacheWrite: 0, cacheWrite1h: 0, reasoning: undefined };
const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 2, totalTokenCount: 3 };
const stop: ChatEvent = { kind: "stop", reason: "end", stopSequence: undefined };

test("deltas of one kind are one part; a call is a part of its own and makes the stop one of calls", () => {
  const events = read(
    chunk([{ text: "hm", thought: true }]),
    chunk([{ text: "a" }]),
    chunk([{ text: "b" }]),
    chunk([{ functionCall: { name: "f", args: { x: 1 } }, thoughtSignature: "s" }]),
    { ...chunk([{ text: "" }], { finishReason: "STOP" }), usageMetadata },
  );
  expect(events).toEqual([
    { kind: "start", id: "r", model: "m" },
    { kind: "reasoning", index: 0, text: "hm" },
    { kind: "part_end", index: 0 },
    { kind: "text", index: 1, text: "a" },
    { kind: "text", index: 1, text: "b" },
    { kind: "part_end", index: 1 },
    { kind: "tool_call", index: 2, id: "call_r_0", name: "f", signature: "s" },
    { kind: "tool_arguments", index: 2, text: '{"x":1}' },
    { kind: "part_end", index: 2 },
    { kind: "usage", usage },
    { kind: "stop", reason: "tool_calls", stopSequence: undefined },
  ]);
});

test("usage is told as it grows, so the last told is right", () => {
  const events = read(
    { ...chunk([{ text: "a" }]), usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 } },
    { ...chunk([], { finishReason: "MAX_TOKENS" }), usageMetadata },
  );
  expect(events.filter((event) => event.kind === "usage").at(-1)).toEqual({ kind: "usage", usage });
  expect(events.at(-1)).toMatchObject({ kind: "stop", reason: "length" });
});

test("an answer of several candidates stops with the last of them, and all of them are told", () => {
  const of = (index: number, text: string, finishReason?: string): object => ({
    content: { role: "model", parts: [{ text }] },
    index,
    finishReason,
  });
  const begun = [
    { candidates: [of(0, "short"), of(1, "long ")] },
    { candidates: [of(0, ".", "STOP"), of(1, "and ")] },
    { candidates: [of(1, "longer")] },
  ];
  const said = (events: readonly ChatEvent[]): string =>
    events.map((event) => (event.kind === "text" ? event.text : "")).join("");
  expect(said(read(...begun))).toBe("shortlong .and longer");
  expect(read(...begun).some(({ kind }) => kind === "stop")).toBe(false);
  const whole = read(...begun, { candidates: [of(1, "", "STOP")] });
  expect(whole.filter(({ kind }) => kind === "stop")).toEqual([stop]);

  const answer = geminiDialect.readAnswer({ candidates: [of(0, "short", "STOP"), of(1, "long", "STOP")] });
  expect(answer).toMatchObject({ parts: [{ text: "shortlong" }], stop: "end" });
});

test("a blocked prompt is a filtered stop", () => {
  expect(read({ promptFeedback: { blockReason: "SAFETY" } })).toEqual([
    { kind: "start", id: undefined, model: undefined },
    { kind: "stop", reason: "filtered", stopSequence: undefined },
  ]);
});

test("a stream that failed does not look complete", () => {
  const stopOf = (...parts: readonly object[]): unknown =>
    read(...parts.map((part) => chunk([part])), chunk([], { finishReason: "OTHER" })).at(-1);
  expect(stopOf()).toMatchObject({ reason: "filtered" });
  expect(stopOf({ text: "hm", thought: true })).toMatchObject({ reason: "filtered" });
  expect(stopOf({ text: "a" })).toMatchObject({ reason: "end" });
  const malformed = chunk([], { finishReason: "MALFORMED_FUNCTION_CALL" });
  expect(read(chunk([{ text: "a" }]), malformed).at(-1)).toMatchObject({ reason: "filtered" });
});

test("an error in the middle ends the part and is told", () => {
  const error = { code: 503, message: "busy", status: "UNAVAILABLE" };
  expect(read(chunk([{ text: "a" }]), { error }).slice(2)).toEqual([
    { kind: "part_end", index: 0 },
    { kind: "error", type: "UNAVAILABLE", message: "busy" },
  ]);
  expect(read({ error: 1 })).toMatchObject([{ kind: "error", type: "INTERNAL" }]);
  expect(read({ ...chunk([{ text: "a" }]), error: null })).toMatchObject([
    { kind: "start" },
    { kind: "text" },
  ]);
});

test("what is no chunk is passed over", () => {
  const reader = geminiDialect.createEventReader();
  for (const data of ["[DONE]", "", "{", "1", "null", "[]"])
    expect(reader({ event: undefined, data })).toEqual([]);
});

test("text goes out as it comes, a call when its arguments are complete, reason and usage last", () => {
  const written = write(
    { kind: "start", id: "r", model: "m" },
    { kind: "text", index: 0, text: "a" },
    { kind: "text", index: 0, text: "b" },
    { kind: "part_end", index: 0 },
    { kind: "tool_call", index: 1, id: "1", name: "f", signature: "s" },
    { kind: "tool_arguments", index: 1, text: '{"x"' },
    { kind: "tool_arguments", index: 1, text: ":1}" },
    { kind: "part_end", index: 1 },
    { kind: "stop", reason: "tool_calls", stopSequence: undefined },
    { kind: "usage", usage },
  );
  expect(written).toEqual([
    chunk([{ text: "a" }]),
    chunk([{ text: "b" }]),
    chunk([{ functionCall: { id: "1", name: "f", args: { x: 1 } }, thoughtSignature: "s" }]),
    { ...chunk([{ text: "" }], { finishReason: "STOP" }), usageMetadata },
  ]);
});

test("the first call of a stream has a signature that a strict client can decode, though nobody signed it", () => {
  const calls = [0, 1].flatMap((index) => [
    { kind: "tool_call", index, id: `${index}`, name: "f" } as const,
    { kind: "part_end", index } as const,
  ]);
  const written = JSON.stringify(write(...calls));
  expect(written.match(/thoughtSignature/g)).toHaveLength(1);
  expect(written).toContain(marked("unsigned"));
});

test("text leaves the writer at once", () => {
  const writer = geminiDialect.createEventWriter(context);
  expect(writer.write({ kind: "text", index: 0, text: "a" })).toHaveLength(1);
});

test("a stream without ids has ours", () => {
  expect(write({ kind: "start", id: undefined, model: undefined }, stop)).toMatchObject([
    { responseId: "ours", modelVersion: "listed" },
  ]);
});

test("a signature that comes after its thought is told with the last piece of it, a sealed thought by itself", () => {
  const signed = marked("anthropic", "s");
  const sealed = marked("redacted", "sealed");
  const written = write(
    { kind: "reasoning", index: 0, text: "hm" },
    { kind: "reasoning", index: 0, text: ", hm" },
    { kind: "reasoning", index: 0, text: "" },
    { kind: "reasoning", index: 0, text: "", signature: "s" },
    { kind: "part_end", index: 0 },
    { kind: "reasoning", index: 1, text: "so" },
    { kind: "reasoning", index: 2, text: "", redacted: "sealed" },
    { kind: "reasoning", index: 3, text: "", signature: "s" },
  );
  expect(written).toMatchObject([
    { candidates: [{ content: { parts: [{ text: "hm", thought: true }] } }] },
    { candidates: [{ content: { parts: [{ text: ", hm", thought: true, thoughtSignature: signed }] } }] },
    { candidates: [{ content: { parts: [{ text: "so", thought: true }] } }] },
    { candidates: [{ content: { parts: [{ text: "", thought: true, thoughtSignature: sealed }] } }] },
    { candidates: [{ content: { parts: [{ text: "", thought: true, thoughtSignature: signed }] } }] },
  ]);
  expect(JSON.stringify([written[0], written[2]])).not.toContain("thoughtSignature");
});

test("all that was thought is told, whatever comes after it", () => {
  const thought: ChatEvent = { kind: "reasoning", index: 0, text: "hm" };
  const told = { candidates: [{ content: { parts: [{ text: "hm", thought: true }] } }] };
  for (const next of [
    { kind: "text", index: 1, text: "a" },
    { kind: "reasoning", index: 1, text: "so" },
    { kind: "part_end", index: 0 },
    { kind: "error", type: "overloaded_error", message: "m" },
    stop,
  ] as const)
    expect(write(thought, next)[0]).toMatchObject(told);
  expect(write(thought)).toMatchObject([told]);
});

test("a call that nobody closed goes out with the stop, but not without one", () => {
  const open: ChatEvent = { kind: "tool_call", index: 0, id: "1", name: "f" };
  expect(write(open, stop)).toMatchObject([
    {
      candidates: [{ content: { parts: [{ functionCall: { name: "f", args: {} } }] }, finishReason: "STOP" }],
    },
  ]);
  expect(write(open)).toEqual([]);
});

test("a call whose arguments are no JSON makes the stream end as malformed", () => {
  const written = write(
    { kind: "tool_call", index: 0, id: "1", name: "f" },
    { kind: "tool_arguments", index: 0, text: "{" },
    { kind: "part_end", index: 0 },
    { kind: "stop", reason: "tool_calls", stopSequence: undefined },
  );
  expect(written).toMatchObject([{ candidates: [{ finishReason: "MALFORMED_FUNCTION_CALL" }] }]);
});

test("a stream that was cut off has no reason to finish, but its usage is told", () => {
  const [last] = write({ kind: "usage", usage });
  expect(last).toMatchObject({ usageMetadata });
  expect(JSON.stringify(last)).not.toContain("finishReason");
});

test("an error is Google's error, and the last thing said", () => {
  const error = (type: string): unknown[] =>
    write({ kind: "usage", usage }, { kind: "error", type, message: "m" });
  expect(error("overloaded_error")).toEqual([{ error: { code: 503, message: "m", status: "UNAVAILABLE" } }]);
  expect(error("rate_limit_error")).toEqual([
    { error: { code: 429, message: "m", status: "RESOURCE_EXHAUSTED" } },
  ]);
  expect(error("NOT_FOUND")).toEqual([{ error: { code: 404, message: "m", status: "NOT_FOUND" } }]);
  expect(error("odd")).toEqual([{ error: { code: 500, message: "m", status: "INTERNAL" } }]);
});
