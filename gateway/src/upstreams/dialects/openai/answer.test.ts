import { expect, test } from "bun:test";
import type { ChatAnswer, ChatUsage, StopReason } from "../chat.ts";
import type { WriteContext } from "../dialect.ts";
import { openaiDialect } from "./openai-dialect.ts";

const { readAnswer, writeAnswer } = openaiDialect;
const context: WriteContext = { id: "0f3a", model: "m", createdSeconds: 1_700_000_000, includeUsage: false };
const answer: ChatAnswer = {
  id: undefined,
  model: undefined,
  parts: [],
  stop: "end",
  stopSequence: undefined,
  usage: undefined,
};
const readMessage = (message: unknown, finish_reason: unknown = "stop"): ChatAnswer =>
  readAnswer({ choices: [{ index: 0, message, finish_reason }] });
const usageOf = (usage: unknown): ChatUsage | undefined => readAnswer({ usage }).usage;

const call = { kind: "tool_call", id: "1", name: "f", arguments: "{}" } as const;
const calledJson = { id: "1", type: "function", function: { name: "f", arguments: "{}" } };

test("an answer is written whole, as the official client types it", () => {
  const usage = { input: 3, output: 4, cacheRead: 5, cacheWrite: 0, cacheWrite1h: 0, reasoning: 2 };
  const parts = [{ kind: "text", text: "hi " }, { kind: "text", text: "you" }, call] as const;
  expect(writeAnswer({ ...answer, id: "msg_1", parts, stop: "tool_calls", usage }, context)).toEqual({
    id: "chatcmpl-0f3a",
    object: "chat.completion",
    created: 1_700_000_000,
    model: "m",
    choices: [
      {
        index: 0,
        message: { role: "assistant", content: "hi you", refusal: null, tool_calls: [calledJson] },
        logprobs: null,
        finish_reason: "tool_calls",
      },
    ],
    usage: {
      prompt_tokens: 8,
      completion_tokens: 4,
      total_tokens: 12,
      prompt_tokens_details: { cached_tokens: 5 },
      completion_tokens_details: { reasoning_tokens: 2 },
    },
  });
});

test("an id of this dialect is kept, any other replaced", () => {
  expect(writeAnswer({ ...answer, id: "chatcmpl-x" }, context)["id"]).toBe("chatcmpl-x");
  expect(writeAnswer(answer, { ...context, id: "chatcmpl-y" })["id"]).toBe("chatcmpl-y");
});

test("an answer of calls alone has null content; one without usage has no usage", () => {
  const json = writeAnswer({ ...answer, parts: [call], stop: "tool_calls" }, context);
  expect(json["choices"]).toMatchObject([{ message: { content: null } }]);
  expect("usage" in json).toBe(false);
});

test("content, thinking, calls and images are read in this order", () => {
  const image = { type: "image_url", image_url: { url: "data:image/png;base64,QQ==" } };
  const message = { content: "c", reasoning_content: "r", tool_calls: [calledJson], images: [image] };
  expect(readMessage(message, "tool_calls")).toEqual({
    ...answer,
    parts: [
      { kind: "reasoning", text: "r" },
      { kind: "text", text: "c" },
      call,
      { kind: "image", source: { mimeType: "image/png", base64: "QQ==" } },
    ],
    stop: "tool_calls",
  });
});

test("what Mistral thinks among the parts of its content is read as thinking", () => {
  const thought = { type: "thinking", thinking: [{ type: "text", text: "h" }, { type: "reference" }, "?"] };
  const content = [thought, { type: "thinking", thinking: "m" }, { type: "text", text: "c" }];
  expect(readMessage({ content }).parts).toEqual([
    { kind: "reasoning", text: "hm" },
    { kind: "text", text: "c" },
  ]);
});

test("a refusal is what was said, and how it ended", () => {
  expect(readMessage({ content: null, refusal: "I will not." })).toMatchObject({
    parts: [{ kind: "text", text: "I will not." }],
    stop: "refusal",
  });
});

const readFinishes: readonly (readonly [finish: unknown, stop: StopReason])[] = [
  ["stop", "end"],
  ["length", "length"],
  ["tool_calls", "tool_calls"],
  ["function_call", "tool_calls"],
  ["content_filter", "filtered"],
  ["insufficient_system_resource", "filtered"],
  [null, "end"],
  ["something new", "end"],
];

test.each(readFinishes)("a finish reason of %p is read as %s", (finish, stop) => {
  expect(readMessage({ content: "x" }, finish).stop).toBe(stop);
});

test("a forced call, which OpenAI ends with stop, is read as a call", () => {
  expect(readMessage({ tool_calls: [calledJson] }, "stop").stop).toBe("tool_calls");
});

const writtenFinishes: readonly (readonly [stop: StopReason, finish: string])[] = [
  ["end", "stop"],
  ["stop_sequence", "stop"],
  ["length", "length"],
  ["tool_calls", "tool_calls"],
  ["filtered", "content_filter"],
  ["refusal", "content_filter"],
];

test.each(writtenFinishes)("a stop for %s is written as %s", (stop, finish_reason) => {
  expect(writeAnswer({ ...answer, stop }, context)["choices"]).toMatchObject([{ finish_reason }]);
});

test("a call without id gets one that differs from answer to answer and fits OpenAI's limit", () => {
  const idIn = (id: string): string => {
    const [part] = readAnswer({
      id,
      choices: [{ message: { tool_calls: [{ function: { name: "f" } }] } }],
    }).parts;
    return part?.kind === "tool_call" ? part.id : "";
  };
  expect(idIn("gen-1")).toBe("call_gen1_0");
  expect(idIn("gen-2")).not.toBe(idIn("gen-1"));
  expect(idIn("x".repeat(100)).length).toBeLessThanOrEqual(40);
});

test("old and free-form calls are read, and arguments that are not text made text", () => {
  const custom = { id: "2", type: "custom", custom: { name: "g", input: "free" } };
  const odd = { id: "3", function: { name: "h", arguments: { a: 1 } } };
  const { parts } = readMessage({ tool_calls: [custom, odd], function_call: { name: "f", arguments: "{}" } });
  expect(parts).toEqual([
    { kind: "tool_call", id: "2", name: "g", arguments: "free" },
    { kind: "tool_call", id: "3", name: "h", arguments: '{"a":1}' },
    { kind: "tool_call", id: "call__2", name: "f", arguments: "{}" },
  ]);
});

test("a token that another vendor wants back travels with the call", () => {
  const signed = { ...call, signature: "sig" };
  const json = writeAnswer({ ...answer, parts: [signed], stop: "tool_calls" }, context);
  expect(readAnswer(json).parts).toEqual([signed]);
});

test("all choices are read, so that all can be counted", () => {
  const said = ["a", "b"].map((content, index) => ({ index, message: { content }, finish_reason: "stop" }));
  expect(readAnswer({ choices: said }).parts).toEqual([
    { kind: "text", text: "a" },
    { kind: "text", text: "b" },
  ]);
});

test("cached tokens are taken out of the prompt", () => {
  const prompt_tokens_details = { cached_tokens: 60, cache_write_tokens: 30 };
  expect(usageOf({ prompt_tokens: 100, completion_tokens: 7, prompt_tokens_details })).toEqual({
    input: 10,
    output: 7,
    cacheRead: 60,
    cacheWrite: 30,
    cacheWrite1h: 0,
    reasoning: undefined,
  });
});

test("absent usage is absent, and explicit zeros are zeros", () => {
  const zero = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, cacheWrite1h: 0, reasoning: 0 };
  for (const absent of [undefined, null, {}, { prompt_tokens: 1 }, { total_tokens: 9 }, "7"]) {
    expect(usageOf(absent)).toBeUndefined();
  }
  const completion_tokens_details = { reasoning_tokens: 0 };
  expect(usageOf({ prompt_tokens: 0, completion_tokens: 0, completion_tokens_details })).toEqual(zero);
});

test("thinking that is counted beside the completion, as only the total shows, is output", () => {
  const stated = (total_tokens: number): unknown => ({
    prompt_tokens: 10,
    completion_tokens: 3,
    total_tokens,
    completion_tokens_details: { reasoning_tokens: 2 },
  });
  expect(usageOf(stated(15))).toMatchObject({ input: 10, output: 5, reasoning: 2 });
  expect(usageOf(stated(13))).toMatchObject({ input: 10, output: 3, reasoning: 2 });
  // As Google says it: nothing but the total shows that anything was thought.
  const bare = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 105 };
  expect(usageOf(bare)).toMatchObject({ input: 9, output: 96, reasoning: 93 });
  expect(usageOf({ ...bare, total_tokens: 12 })).toMatchObject({ output: 3, reasoning: undefined });
  expect(usageOf({ ...bare, total_tokens: 5 })).toMatchObject({ output: 3, reasoning: undefined });
});

test("what came from a cache is found under the names of other vendors, too", () => {
  const stated = { prompt_tokens: 1_336, completion_tokens: 31 };
  for (const cached of [{ cached_tokens: 1_280 }, { prompt_cache_hit_tokens: 1_280 }])
    expect(usageOf({ ...stated, ...cached })).toMatchObject({ input: 56, cacheRead: 1_280, output: 31 });
});

test("what Qwen wrote to its cache is taken out of the prompt, and counted once", () => {
  const details = {
    cached_tokens: 100,
    cache_creation_input_tokens: 1_200,
    cache_creation: { ephemeral_5m_input_tokens: 1_200 },
  };
  const stated = { prompt_tokens: 1_336, completion_tokens: 31, prompt_tokens_details: details };
  expect(usageOf(stated)).toMatchObject({ input: 36, cacheRead: 100, cacheWrite: 1_200, cacheWrite1h: 0 });
  const both = { ...details, cache_write_tokens: 1_200 };
  expect(usageOf({ ...stated, prompt_tokens_details: both })).toMatchObject({ input: 36, cacheWrite: 1_200 });
});

test("what was written to a cache for an hour is told apart, by whichever name a reseller of Claude uses", () => {
  const stated = { prompt_tokens: 1_336, completion_tokens: 31 };
  const split = { ephemeral_5m_input_tokens: 200, ephemeral_1h_input_tokens: 1_000 };
  const none = { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 };
  const inDetails = (details: object, beside: object = {}): object => ({
    ...stated,
    prompt_tokens_details: { cached_tokens: 100, ...details },
    ...beside,
  });
  const all = { cache_write_tokens: 1_200, cache_creation_tokens: 1_200 };
  for (const told of [
    inDetails({ ...all, cache_creation_token_details: split }),
    inDetails(
      { cache_creation_tokens: 1_200, cache_creation_token_details: split },
      { cache_creation_input_tokens: 1_200 },
    ),
    inDetails({}, { cache_creation_input_tokens: 1_200, cache_creation: split }),
    inDetails({ cache_creation: split }),
  ])
    expect(usageOf(told)).toMatchObject({
      input: 36,
      cacheRead: 100,
      cacheWrite: 200,
      cacheWrite1h: 1_000,
      output: 31,
    });

  for (const told of [
    inDetails({ cache_creation_tokens: 1_200 }),
    inDetails({ cache_creation_tokens: 1_200, cache_creation_token_details: none }),
    inDetails({}, { cache_creation_input_tokens: 1_200 }),
  ])
    expect(usageOf(told)).toMatchObject({ input: 36, cacheRead: 100, cacheWrite: 1_200, cacheWrite1h: 0 });

  // A zero is a zero, whatever stands beside it, and no part is more than its whole.
  const zero = inDetails({ cache_write_tokens: 0, cache_creation_token_details: split });
  expect(usageOf(zero)).toMatchObject({ input: 1_236, cacheWrite: 0, cacheWrite1h: 0 });
  const absurd = { ephemeral_5m_input_tokens: -5, ephemeral_1h_input_tokens: 1e300 };
  const odd = inDetails({ cache_creation_tokens: 9_999, cache_creation_token_details: absurd });
  expect(usageOf(odd)).toMatchObject({ input: 0, cacheRead: 100, cacheWrite: 0, cacheWrite1h: 1_236 });
});

test("what OpenAI keeps in its cache for twelve hours is told apart from what it keeps for minutes", () => {
  const lifetimes = { ttl_30m_tokens: 200, ttl_12h_tokens: 1_000 };
  const details = { cached_tokens: 100, cache_write_tokens: 1_200, cache_write_tokens_details: lifetimes };
  const stated = { prompt_tokens: 1_336, completion_tokens: 31, prompt_tokens_details: details };
  expect(usageOf(stated)).toMatchObject({ input: 36, cacheRead: 100, cacheWrite: 200, cacheWrite1h: 1_000 });
});

test("writes to either cache are one figure inside the prompt, and those for an hour are told apart", () => {
  const usage = { input: 1, output: 0, cacheRead: 2, cacheWrite: 3, cacheWrite1h: 4, reasoning: undefined };
  expect(writeAnswer({ ...answer, usage }, context)["usage"]).toEqual({
    prompt_tokens: 10,
    completion_tokens: 0,
    total_tokens: 10,
    prompt_tokens_details: {
      cached_tokens: 2,
      cache_write_tokens: 7,
      cache_creation_token_details: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 4 },
    },
  });
});
