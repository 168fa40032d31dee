import { expect, test } from "bun:test";
import type { JsonObject } from "../../../platform/json.ts";
import type { ChatAnswer } from "../chat.ts";
import { marked } from "../marks.ts";
import { geminiDialect } from "./gemini-dialect.ts";

const read = (parts: readonly unknown[], more: JsonObject = {}): ChatAnswer =>
  geminiDialect.readAnswer({
    candidates: [{ content: { role: "model", parts }, finishReason: "STOP", ...more }],
    responseId: "r",
    modelVersion: "gemini-2.5-pro",
  });
const plain: ChatAnswer = {
  id: undefined,
  model: undefined,
  parts: [{ kind: "text", text: "hi" }],
  stop: "end",
  stopSequence: undefined,
  usage: undefined,
};
const write = (changes: Partial<ChatAnswer>): JsonObject =>
  geminiDialect.writeAnswer(
    { ...plain, ...changes },
    { id: "ours", model: "listed", createdSeconds: 0, includeUsage: false },
  );
const usage = { input: 10, output: 7, cacheRead: 3, cacheWrite: 2, cacheWrite1h: 1, reasoning: 4 };

test("text, thoughts and calls are read in their order, and broken pieces are one", () => {
  const { id, model, parts, stop } = read([
    { text: "h", thought: true },
    { text: "m", thought: true, thoughtSignature: "Google's own, which nobody else could use" },
    { text: "a" },
    { text: "b" },
    { functionCall: { id: "1", name: "f", args: { x: 1 } }, thoughtSignature: "t" },
    { executableCode: {} },
    null,
  ]);
  expect({ id, model, stop }).toEqual({ id: "r", model: "gemini-2.5-pro", stop: "tool_calls" });
  expect(parts).toEqual([
    { kind: "reasoning", text: "hm" },
    { kind: "text", text: "ab" },
    { kind: "tool_call", id: "1", name: "f", arguments: '{"x":1}', signature: "t" },
  ]);
});

test("calls without ids get ids that no other answer has", () => {
  const { parts } = read([{ functionCall: { name: "f" } }, { functionCall: { name: "f" } }]);
  expect(parts).toMatchObject([
    { id: "call_r_0", arguments: "{}" },
    { id: "call_r_1", arguments: "{}" },
  ]);
});

test("images in an answer are kept", () => {
  expect(read([{ inlineData: { mimeType: "image/png", data: "AA==" } }]).parts).toEqual([
    { kind: "image", source: { mimeType: "image/png", base64: "AA==" } },
  ]);
});

test("every reason to finish has its meaning", () => {
  const stop = (finishReason: unknown): string => read([{ text: "a" }], { finishReason }).stop;
  expect(["STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER", undefined].map(stop)).toEqual([
    "end",
    "length",
    "filtered",
    "filtered",
    "end",
    "end",
  ]);
  expect(read([{ functionCall: { name: "f" } }], { finishReason: "MAX_TOKENS" }).stop).toBe("length");
});

const failed = ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MISSING_THOUGHT_SIGNATURE", "NO_IMAGE"];

test("an answer that failed does not look complete, whatever was said before", () => {
  for (const finishReason of failed) {
    for (const parts of [[], [{ text: "a" }], [{ functionCall: { name: "f" } }]]) {
      expect(read(parts, { finishReason }).stop).toBe("filtered");
    }
  }
});

test("nothing said is complete only where Google stopped of its own accord", () => {
  for (const parts of [[], [{ text: "" }], [{ text: "hm", thought: true }]]) {
    expect(read(parts, { finishReason: "STOP" }).stop).toBe("end");
    expect(read(parts, { finishReason: "OTHER" }).stop).toBe("filtered");
    expect(read(parts, { finishReason: "A_REASON_OF_TOMORROW" }).stop).toBe("filtered");
  }
});

test("a blocked prompt is filtered and has no parts", () => {
  const answer = geminiDialect.readAnswer({
    promptFeedback: { blockReason: "SAFETY" },
    usageMetadata: { promptTokenCount: 5, totalTokenCount: 5 },
  });
  expect(answer).toMatchObject({ parts: [], stop: "filtered", usage: { input: 5, output: 0 } });
});

test("buckets of usage are disjoint and sum to the total", () => {
  const usageMetadata = {
    promptTokenCount: 100,
    cachedContentTokenCount: 60,
    toolUsePromptTokenCount: 5,
    candidatesTokenCount: 20,
    thoughtsTokenCount: 8,
    totalTokenCount: 133,
  };
  const read = geminiDialect.readAnswer({ usageMetadata }).usage;
  expect(read).toEqual({
    input: 45,
    output: 28,
    cacheRead: 60,
    cacheWrite: 0,
    cacheWrite1h: 0,
    reasoning: 8,
  });
  expect((read?.input ?? 0) + (read?.output ?? 0) + (read?.cacheRead ?? 0)).toBe(
    usageMetadata.totalTokenCount,
  );
});

test("usage that says nothing of tokens is no usage, and absurd figures do no harm", () => {
  const usageOf = (usageMetadata: unknown): unknown => geminiDialect.readAnswer({ usageMetadata }).usage;
  expect(usageOf({ trafficType: "ON_DEMAND" })).toBeUndefined();
  expect(
    usageOf({ promptTokenCount: 1, cachedContentTokenCount: 9, candidatesTokenCount: -1 }),
  ).toMatchObject({
    input: 0,
    cacheRead: 9,
    output: 0,
  });
});

test("nothing that an upstream says makes the reader throw", () => {
  for (const json of [undefined, null, 1, "a", [], {}, { candidates: 1 }, { candidates: [{ content: 1 }] }]) {
    expect(geminiDialect.readAnswer(json)).toMatchObject({ parts: [], stop: "end" });
  }
});

test("an answer is written as one candidate, with ids of ours where the vendor gave none", () => {
  expect(write({ usage })).toEqual({
    candidates: [{ content: { role: "model", parts: [{ text: "hi" }] }, finishReason: "STOP", index: 0 }],
    usageMetadata: {
      promptTokenCount: 16,
      cachedContentTokenCount: 3,
      candidatesTokenCount: 3,
      thoughtsTokenCount: 4,
      totalTokenCount: 23,
    },
    modelVersion: "listed",
    responseId: "ours",
  });
  expect(write({ id: "r", model: "m" })).toMatchObject({ responseId: "r", modelVersion: "m" });
});

test("the first call of an answer has a signature that a strict client can decode, though nobody signed it", () => {
  const call = { kind: "tool_call", id: "1", name: "f", arguments: "{}" } as const;
  const written = JSON.stringify(write({ parts: [call, { ...call, id: "2" }] }));
  const signatures = [...written.matchAll(/"thoughtSignature":"([^"]*)"/g)].map(([, signature]) => signature);
  expect(signatures).toEqual([marked("unsigned")]);
});

test("every reason to stop is written in Google's words", () => {
  const finish = (stop: ChatAnswer["stop"]): unknown => write({ stop })["candidates"];
  const reasons = { end: "STOP", tool_calls: "STOP", stop_sequence: "STOP", length: "MAX_TOKENS" } as const;
  for (const stop of ["end", "tool_calls", "stop_sequence", "length"] as const) {
    expect(finish(stop)).toMatchObject([{ finishReason: reasons[stop] }]);
  }
  expect(finish("filtered")).toMatchObject([{ finishReason: "SAFETY" }]);
  expect(finish("refusal")).toMatchObject([{ finishReason: "SAFETY" }]);
});

test("a call whose arguments are no JSON is called malformed, and one cut off by length is left out", () => {
  const broken = { kind: "tool_call", id: "1", name: "f", arguments: '{"a' } as const;
  expect(write({ parts: [broken], stop: "tool_calls" })["candidates"]).toEqual([
    { content: { role: "model", parts: [] }, finishReason: "MALFORMED_FUNCTION_CALL", index: 0 },
  ]);
  const deep = { ...broken, arguments: `{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}` };
  expect(write({ parts: [deep], stop: "tool_calls" })["candidates"]).toMatchObject([
    { content: { parts: [] }, finishReason: "MALFORMED_FUNCTION_CALL" },
  ]);
  expect(write({ parts: [broken], stop: "length" })["candidates"]).toMatchObject([
    { finishReason: "MAX_TOKENS" },
  ]);
});
