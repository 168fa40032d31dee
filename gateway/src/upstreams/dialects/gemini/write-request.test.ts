import { expect, test } from "bun:test";
import type { JsonObject } from "../../../platform/json.ts";
import type { ChatMessage, ChatPart, ChatRequest } from "../chat.ts";
import { bareRequest } from "../test-requests.ts";
import { geminiDialect } from "./gemini-dialect.ts";

const write = (changes: Partial<ChatRequest>): JsonObject =>
  geminiDialect.writeRequest({ ...bareRequest, model: "gemini-2.5-flash", ...changes });
const user = (...parts: readonly ChatPart[]): ChatMessage => ({ role: "user", parts });
const assistant = (...parts: readonly ChatPart[]): ChatMessage => ({ role: "assistant", parts });
const call: ChatPart = { kind: "tool_call", id: "1", name: "f", arguments: '{"a":1}' };
const result: ChatPart = {
  kind: "tool_result",
  callId: "1",
  name: undefined,
  content: [{ kind: "text", text: "done" }],
  isError: false,
};

test("a plain question is its contents and nothing else", () => {
  expect(write({ endUser: "u", parallelToolCalls: false })).toEqual({
    contents: [{ role: "user", parts: [{ text: "hello" }] }],
  });
});

test("settings, format and thinking stand in generationConfig", () => {
  const written = write({
    system: [{ kind: "text", text: "be brief", cache: "5m" }],
    outputTokensMax: 1,
    temperature: 0,
    topP: 0.2,
    topK: 3,
    stop: ["x"],
    seed: 4,
    frequencyPenalty: 0.5,
    presencePenalty: 0.6,
    output: { kind: "json_schema", name: "n", schema: { type: "object" }, strict: true },
    reasoning: { effort: "low" },
  });
  expect(written).toMatchObject({
    systemInstruction: { parts: [{ text: "be brief" }] },
    generationConfig: {
      maxOutputTokens: 1,
      temperature: 0,
      topP: 0.2,
      topK: 3,
      stopSequences: ["x"],
      seed: 4,
      frequencyPenalty: 0.5,
      presencePenalty: 0.6,
      responseMimeType: "application/json",
      responseJsonSchema: { type: "object" },
      thinkingConfig: { thinkingBudget: 2048, includeThoughts: true },
    },
  });
});

test("each effort is written as its budget of tokens, and off as none", () => {
  const budget = (reasoning: ChatRequest["reasoning"]): unknown => write({ reasoning })["generationConfig"];
  const thinking = (thinkingBudget: number): object => ({
    thinkingConfig: { thinkingBudget, includeThoughts: true },
  });
  expect(budget({ effort: "minimal" })).toEqual(thinking(512));
  expect(budget({ effort: "medium" })).toEqual(thinking(8192));
  expect(budget({ effort: "high" })).toEqual(thinking(24_576));
  expect(budget({ effort: "xhigh" })).toEqual(thinking(24_576));
  expect(budget({ effort: "max" })).toEqual(thinking(24_576));
  expect(budget({ budgetTokens: 1000 })).toEqual(thinking(1000));
  expect(budget("off")).toEqual({ thinkingConfig: { thinkingBudget: 0 } });
});

test("thinking stays within what each model takes", () => {
  const thinking = (model: string, reasoning: ChatRequest["reasoning"]): unknown =>
    write({ model, reasoning })["generationConfig"];
  const budget = (thinkingBudget: number): object => ({
    thinkingConfig: { thinkingBudget, includeThoughts: true },
  });
  expect(thinking("gemini-2.5-flash", { budgetTokens: 31_999 })).toEqual(budget(24_576));
  expect(thinking("gemini-2.5-flash-lite", { budgetTokens: 100 })).toEqual(budget(512));
  expect(thinking("gemini-2.5-pro", { budgetTokens: 31_999 })).toEqual(budget(31_999));
  expect(thinking("gemini-2.5-pro", { budgetTokens: 100_000 })).toEqual(budget(32_768));
  expect(thinking("gemini-2.5-pro", { budgetTokens: 1 })).toEqual(budget(128));
  expect(thinking("gemini-2.5-pro", "off")).toEqual({ thinkingConfig: { thinkingBudget: 128 } });
  expect(thinking("gemini-3-pro-preview", "off")).toEqual({ thinkingConfig: { thinkingLevel: "low" } });
  for (const model of ["gemini-3-flash", "gemini-3.6-flash", "gemini-3.8-flash-lite"]) {
    expect(thinking(model, "off")).toEqual({ thinkingConfig: { thinkingLevel: "minimal" } });
  }
  for (const model of ["gemini-3.7-flash", "gemini-3.8-flash", "gemini-4-flash", "gemini-3.1-pro"]) {
    expect(thinking(model, "off")).toEqual({ thinkingConfig: { thinkingLevel: "low" } });
  }
});

test("since Gemini 3 each effort is written as the nearest level that the model knows", () => {
  const level = (model: string, effort: "minimal" | "low" | "medium" | "high" | "xhigh" | "max"): unknown =>
    write({ model, reasoning: { effort } })["generationConfig"];
  const shown = (thinkingLevel: string): object => ({
    thinkingConfig: { thinkingLevel, includeThoughts: true },
  });
  for (const effort of ["low", "medium", "high"] as const)
    expect(level("gemini-3.8-flash", effort)).toEqual(shown(effort));
  for (const effort of ["xhigh", "max"] as const)
    expect(level("gemini-3.8-flash", effort)).toEqual(shown("high"));
  expect(level("gemini-3.8-flash", "minimal")).toEqual(shown("low"));
  expect(level("gemini-3.6-flash", "minimal")).toEqual(shown("minimal"));
  expect(level("gemini-3.1-pro-preview", "medium")).toEqual(shown("medium"));
  expect(level("gemini-3-pro-preview", "medium")).toEqual(shown("high"));
  // A figure is the caller's own.
  expect(write({ model: "gemini-3.8-flash", reasoning: { budgetTokens: 2000 } })["generationConfig"]).toEqual(
    { thinkingConfig: { thinkingBudget: 2000, includeThoughts: true } },
  );
});

test("tools are written with JSON schemas, and choices as modes", () => {
  const parameters = { type: "object", properties: { a: { type: "string" } } };
  const tools = [{ name: "f", description: "d", parameters, strict: undefined }];
  const mode = (toolChoice: ChatRequest["toolChoice"]): unknown => write({ tools, toolChoice })["toolConfig"];
  expect(write({ tools })).toMatchObject({
    tools: [{ functionDeclarations: [{ name: "f", description: "d", parametersJsonSchema: parameters }] }],
  });
  expect(mode(undefined)).toBeUndefined();
  expect(mode("auto")).toEqual({ functionCallingConfig: { mode: "AUTO" } });
  expect(mode("none")).toEqual({ functionCallingConfig: { mode: "NONE" } });
  expect(mode("required")).toEqual({ functionCallingConfig: { mode: "ANY" } });
  expect(mode({ name: "f" })).toEqual({
    functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["f"] },
  });
});

test("strict tools ask for validated calls, and a tool without parameters has no schema", () => {
  const tools = [{ name: "f", description: undefined, parameters: { type: "object" }, strict: true }];
  expect(write({ tools })).toMatchObject({
    tools: [{ functionDeclarations: [{ name: "f" }] }],
    toolConfig: { functionCallingConfig: { mode: "VALIDATED" } },
  });
  expect(JSON.stringify(write({ tools }))).not.toContain("parametersJsonSchema");
});

test("a result is named after the call it answers, and neighbours of one role are one content", () => {
  expect(
    write({ messages: [user(), assistant(call), user(result), user({ kind: "text", text: "go" })] }),
  ).toEqual({
    contents: [
      { role: "model", parts: [{ functionCall: { id: "1", name: "f", args: { a: 1 } } }] },
      {
        role: "user",
        parts: [{ functionResponse: { id: "1", name: "f", response: { output: "done" } } }, { text: "go" }],
      },
    ],
  });
});

test("where an id is used again, a result is named after the latest call before it", () => {
  const again: ChatPart = { ...call, name: "g" };
  const { contents } = write({ messages: [assistant(call), user(result), assistant(again), user(result)] });
  expect(contents).toMatchObject([
    {},
    { parts: [{ functionResponse: { name: "f" } }] },
    {},
    { parts: [{ functionResponse: { name: "g" } }] },
  ]);
});

test("a failure is an error, and images go with the result, where the model takes them there", () => {
  const image: ChatPart = { kind: "image", source: { mimeType: "image/png", base64: "AA==" } };
  const failed: ChatPart = { ...result, isError: true, content: [...result.content, image] };
  const messages = [assistant(call), user(failed)];
  expect(write({ model: "gemini-3-pro", messages })).toMatchObject({
    contents: [
      {},
      {
        parts: [
          {
            functionResponse: {
              response: { error: "done" },
              parts: [{ inlineData: { mimeType: "image/png", data: "AA==" } }],
            },
          },
        ],
      },
    ],
  });
});

test("before Gemini 3, images of results are shown by the user, behind all results", () => {
  const image: ChatPart = { kind: "image", source: { mimeType: "image/png", base64: "AA==" } };
  const calls = assistant(call, { ...call, id: "2" });
  const results = [user({ ...result, content: [image] }), user({ ...result, callId: "2" })];
  const { contents } = write({
    model: "gemini-2.5-flash",
    messages: [calls, ...results, user({ kind: "text", text: "go" })],
  });
  expect(contents).toMatchObject([
    { role: "model" },
    { role: "user", parts: [{ functionResponse: { id: "1" } }, { functionResponse: { id: "2" } }] },
    {
      role: "user",
      parts: [{ text: "From the result of 1:" }, { inlineData: { data: "AA==" } }, { text: "go" }],
    },
  ]);
  expect(JSON.stringify(contents)).not.toContain('"parts":[{"inlineData"');
});

test("images by address are files, typed where their name tells", () => {
  const by = (url: string): unknown =>
    write({ messages: [user({ kind: "image", source: { url } })] })["contents"];
  expect(by("https://x/a.JPG?b=c")).toEqual([
    { role: "user", parts: [{ fileData: { fileUri: "https://x/a.JPG?b=c", mimeType: "image/jpeg" } }] },
  ]);
  expect(by("https://x/a")).toEqual([{ role: "user", parts: [{ fileData: { fileUri: "https://x/a" } }] }]);
  expect(by("https://youtu.be/a.png")).toEqual([
    { role: "user", parts: [{ fileData: { fileUri: "https://youtu.be/a.png" } }] },
  ]);
});

test("from Gemini 3 on, the first unsigned call of a turn says that it was not signed", () => {
  const written = (model: string): unknown =>
    write({ model, messages: [assistant(call, { ...call, id: "2" }), user(result)] })["contents"];
  const word = "skip_thought_signature_validator";
  expect(written("gemini-3-pro-preview")).toMatchObject([{ parts: [{ thoughtSignature: word }, {}] }, {}]);
  expect(JSON.stringify(written("gemini-3-pro-preview")).split(word)).toHaveLength(2);
  expect(JSON.stringify(written("gemini-2.5-pro"))).not.toContain(word);
});

test("a signed call keeps its signature; what another vendor signed or sealed a thought with is left out", () => {
  const messages = [
    assistant(
      { kind: "reasoning", text: "", redacted: "sealed" },
      { kind: "reasoning", text: "hm", signature: "s1" },
      { kind: "reasoning", text: "", signature: "s1" },
      { ...call, signature: "s2" },
    ),
  ];
  expect(write({ model: "gemini-3-flash", messages })["contents"]).toEqual([
    {
      role: "model",
      parts: [
        { text: "hm", thought: true },
        { functionCall: { id: "1", name: "f", args: { a: 1 } }, thoughtSignature: "s2" },
      ],
    },
  ]);
});

test("what Gemini cannot be told is refused", () => {
  const tools = [{ name: "f", description: undefined, parameters: {}, strict: undefined }];
  expect(() => write({ tools, parallelToolCalls: false })).toThrow("parallel_tool_calls");
  expect(() => write({ toolChoice: "required" })).toThrow("tool_choice");
  expect(() => write({ messages: [user(result)] })).toThrow("which no tool call has");
});

test("a call whose arguments are no JSON object does not end the conversation, and is shown as it was", () => {
  const argsOf = (written: string): unknown =>
    write({ messages: [assistant({ ...call, arguments: written })] })["contents"];
  for (const written of ["{", "[1]", "null", "text", "1e20", "1790000000000000001"])
    expect(argsOf(written)).toMatchObject([{ parts: [{ functionCall: { args: { _raw: written } } }] }]);
  expect(argsOf('{"a":1}')).toMatchObject([{ parts: [{ functionCall: { args: { a: 1 } } }] }]);
  expect(argsOf(" ")).toMatchObject([{ parts: [{ functionCall: { args: {} } }] }]);
});
