import { expect, test } from "bun:test";
import type { JsonObject } from "../../../platform/json.ts";
import type { ChatMessage, ChatRequest, ToolDefinition, ToolResultPart } from "../chat.ts";
import { Inexpressible } from "../dialect.ts";
import { openaiDialect } from "./openai-dialect.ts";

const empty: ChatRequest = {
  ...openaiDialect.readRequest({ messages: [] }, { model: "m", stream: false }),
};
const write = (request: Partial<ChatRequest>): JsonObject =>
  openaiDialect.writeRequest({ ...empty, ...request });
const written = (...messages: readonly ChatMessage[]): unknown => write({ messages })["messages"];

const closed = { type: "object", properties: {}, additionalProperties: false };
const tool: ToolDefinition = { name: "f", description: "d", parameters: closed, strict: true };
const text = (said: string) => ({ kind: "text", text: said }) as const;
const call = { kind: "tool_call", id: "1", name: "f", arguments: "{}" } as const;
const result = (given: Partial<ToolResultPart>): ToolResultPart => ({
  kind: "tool_result",
  callId: "1",
  name: undefined,
  content: [],
  isError: false,
  ...given,
});

test("what is not set is not written", () => {
  expect(write({})).toEqual({ model: "m", messages: [] });
});

test("every setting is written under OpenAI's name for it", () => {
  const settings: Partial<ChatRequest> = {
    system: [text("s")],
    tools: [tool],
    toolChoice: { name: "f" },
    parallelToolCalls: false,
    outputTokensMax: 9,
    temperature: 0,
    topP: 0.5,
    stop: ["a"],
    seed: 3,
    frequencyPenalty: 0.1,
    presencePenalty: -0.1,
    output: { kind: "json_schema", name: "n", schema: {}, strict: undefined },
    reasoning: { effort: "low" },
    endUser: "u",
    stream: true,
  };
  expect(write(settings)).toEqual({
    model: "m",
    messages: [{ role: "system", content: "s" }],
    tools: [{ type: "function", function: { ...tool } }],
    tool_choice: { type: "function", function: { name: "f" } },
    parallel_tool_calls: false,
    max_completion_tokens: 9,
    temperature: 0,
    top_p: 0.5,
    stop: ["a"],
    seed: 3,
    frequency_penalty: 0.1,
    presence_penalty: -0.1,
    response_format: { type: "json_schema", json_schema: { name: "n", schema: {} } },
    reasoning_effort: "low",
    user: "u",
    stream: true,
    stream_options: { include_usage: true },
  });
});

test("several instructions are one system message, without their marks to cache", () => {
  const system = [{ ...text("a"), cache: "1h" } as const, text("b")];
  expect(write({ system })["messages"]).toEqual([{ role: "system", content: "a\n\nb" }]);
});

test("several texts are one text, whoever says them; beside an image each stays a part", () => {
  const image = { kind: "image", source: { url: "https://a/b" } } as const;
  const texts = [text("a"), text("b")];
  expect(
    written(
      { role: "assistant", parts: [...texts, call] },
      { role: "user", parts: [result({ content: texts }), ...texts] },
      { role: "assistant", parts: texts },
      { role: "user", parts: [...texts, image] },
    ),
  ).toMatchObject([
    { role: "assistant", content: "a\n\nb" },
    { role: "tool", content: "a\n\nb" },
    { role: "user", content: "a\n\nb" },
    { role: "assistant", content: "a\n\nb" },
    { role: "user", content: [{ text: "a" }, { text: "b" }, { type: "image_url" }] },
  ]);
});

test("images are written as data or as their address", () => {
  const parts = [
    { kind: "image", source: { mimeType: "image/png", base64: "QQ==" } },
    { kind: "image", source: { url: "https://a/b" } },
  ] as const;
  expect(written({ role: "user", parts })).toEqual([
    {
      role: "user",
      content: [
        { type: "image_url", image_url: { url: "data:image/png;base64,QQ==" } },
        { type: "image_url", image_url: { url: "https://a/b" } },
      ],
    },
  ]);
});

test("results of tools come before what the user says in the same message", () => {
  const parts = [text("go on"), result({ content: [text("one")] }), result({ callId: "2" })];
  expect(written({ role: "user", parts })).toEqual([
    { role: "tool", tool_call_id: "1", content: "one" },
    { role: "tool", tool_call_id: "2", content: "" },
    { role: "user", content: "go on" },
  ]);
});

test("that a tool failed is said in words", () => {
  expect(written({ role: "user", parts: [result({ isError: true })] })).toEqual([
    { role: "tool", tool_call_id: "1", content: "The tool failed." },
  ]);
});

test("an earlier answer is written without its thinking and without other vendors' tokens", () => {
  const thought = { kind: "reasoning", text: "hm", signature: "s" } as const;
  const parts = [thought, { ...call, signature: "s" }];
  expect(
    written(
      { role: "assistant", parts },
      { role: "user", parts: [result({})] },
      { role: "assistant", parts: [thought, text("a")] },
    ),
  ).toEqual([
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "1", type: "function", function: { name: "f", arguments: "{}" } }],
    },
    { role: "tool", tool_call_id: "1", content: "" },
    { role: "assistant", content: "a" },
  ]);
});

test("thoughts go back with their calls to those who refuse the results without them", () => {
  const parts = [{ kind: "reasoning", text: "hm" } as const, call];
  const messages = [{ role: "assistant", parts } as const];
  for (const model of ["deepseek-reasoner", "moonshotai/kimi-k2-thinking"]) {
    expect(write({ model, messages })["messages"]).toMatchObject([{ reasoning_content: "hm" }]);
  }
});

test("an object without a list of its properties is given an empty one", () => {
  const parameters = (of: JsonObject): unknown =>
    write({ tools: [{ ...tool, parameters: of, strict: undefined }] })["tools"];
  expect(parameters({ type: "object" })).toMatchObject([
    { function: { parameters: { type: "object", properties: {} } } },
  ]);
  expect(parameters({})).toMatchObject([{ function: { parameters: {} } }]);
});

test("a list whose items nobody describes is said to hold anything, at every depth", () => {
  const list = { type: "array", description: "Tags." };
  const example = { type: "array" };
  const parameters = {
    type: "object",
    properties: {
      tags: list,
      names: { type: ["array", "null"] },
      rows: { type: "array", items: list },
      pair: { type: "array", prefixItems: [list, { type: "string" }] },
      either: { anyOf: [list, { type: "string" }], default: example },
      known: { type: "array", items: { type: "string" }, examples: [example] },
      type: { type: "string", enum: ["array"] },
    },
    $defs: { List: list },
  };
  const full = { ...list, items: {} };
  expect(write({ tools: [{ ...tool, parameters, strict: undefined }] })["tools"]).toEqual([
    {
      type: "function",
      function: {
        name: tool.name,
        description: tool.description,
        parameters: {
          type: "object",
          properties: {
            tags: full,
            names: { type: ["array", "null"], items: {} },
            rows: { type: "array", items: full },
            pair: { type: "array", prefixItems: [full, { type: "string" }], items: {} },
            either: { anyOf: [full, { type: "string" }], default: example },
            known: { type: "array", items: { type: "string" }, examples: [example] },
            type: { type: "string", enum: ["array"] },
          },
          $defs: { List: full },
        },
      },
    },
  ]);
});

test("a model is held strictly to no schema that leaves open what a list holds", () => {
  const parameters = {
    type: "object",
    properties: { tags: { type: "array" } },
    required: ["tags"],
    additionalProperties: false,
  };
  const [written] = write({ tools: [{ ...tool, parameters, strict: true }] })["tools"] as [
    { readonly function: JsonObject },
  ];
  expect(written.function).not.toHaveProperty("strict");
  const output = { kind: "json_schema", name: "n", schema: parameters, strict: true } as const;
  const schema = { ...parameters, properties: { tags: { type: "array", items: {} } } };
  expect(write({ output })["response_format"]).toEqual({
    type: "json_schema",
    json_schema: { name: "n", schema },
  });
});

test("without tools, a choice of none and a leave to call several are not written", () => {
  expect(write({ toolChoice: "auto", parallelToolCalls: true })).toEqual(write({}));
  expect(() => write({ toolChoice: "required" })).toThrow(Inexpressible);
});

const budgets = [
  [1_024, "low"],
  [8_192, "medium"],
  [24_576, "high"],
  [100_000, "high"],
] as const;

test.each(budgets)("a budget of %d thinking tokens is the effort %s", (budgetTokens, effort) => {
  expect(write({ reasoning: { budgetTokens } })["reasoning_effort"]).toBe(effort);
});

const a = { type: "string" };
const person = { type: "object", properties: { a }, required: ["a"], additionalProperties: false };
const holding = (inner: JsonObject): JsonObject => ({
  ...person,
  properties: { a: inner },
});
const open = { ...person, additionalProperties: undefined };
const optional = { ...person, required: [] };

const strictlyTaken: Readonly<Record<string, JsonObject>> = {
  "an object without members": closed,
  "one that requires all of them": person,
  "closed objects within": holding({ type: "array", items: { anyOf: [person, { type: "null" }] } }),
  "limits of numbers and lists, known formats, and what schema it is": {
    $schema: "http://json-schema.org/draft-07/schema#",
    ...holding({ type: "array", minItems: 1, items: { type: ["string", "null"], format: "date-time" } }),
  },
  "a member that is called as a word it refuses": {
    ...person,
    properties: { default: a },
    required: ["default"],
  },
  "definitions, and references to them": { ...holding({ $ref: "#/$defs/p" }), $defs: { p: person } },
};
const strictlyRefused: Readonly<Record<string, JsonObject>> = {
  "an open object": open,
  "one with any member": { ...person, additionalProperties: a },
  "an optional member": optional,
  "an optional member deep within": holding({ type: ["array", "null"], items: { anyOf: [optional] } }),
  "an open object among the definitions": { ...person, $defs: { p: open } },
  "what is no object": { anyOf: [person] },
  "a combination of schemas": holding({ allOf: [person] }),
  "a default": holding({ ...a, default: "b" }),
  "a format that it does not know": holding({ ...a, format: "uri" }),
  "a length of a text": holding({ ...a, minLength: 1 }),
  "a list without doubles": holding({ type: "array", items: a, uniqueItems: true }),
  "names of members": { ...person, propertyNames: a },
  "words beside a reference": {
    ...holding({ $ref: "#/$defs/p", description: "Who it is." }),
    $defs: { p: person },
  },
  "a type that is not said": holding({ enum: ["b", "c"] }),
  "a type that is not said deep within": holding({ type: "array", items: { anyOf: [{ const: "b" }] } }),
  "anything at all": holding({}),
};

test.each(Object.entries(strictlyTaken))("a strict schema stays strict: %s", (_, schema) => {
  expect(strictOf(schema)).toEqual([true, true]);
});

test.each(Object.entries(strictlyRefused))(
  "a schema that OpenAI refuses to be strict about is sent without strict: %s",
  (_, schema) => {
    expect(strictOf(schema)).toEqual([undefined, undefined]);
  },
);

function strictOf(schema: JsonObject): readonly unknown[] {
  const output = { kind: "json_schema", name: "n", schema, strict: true } as const;
  const body = write({ output, tools: [{ ...tool, parameters: schema }] });
  expect(body).toMatchObject({
    response_format: { json_schema: { schema } },
    tools: [{ function: { parameters: schema } }],
  });
  const format = body["response_format"] as { json_schema: JsonObject };
  const [written] = body["tools"] as { function: JsonObject }[];
  return [format.json_schema["strict"], written?.function["strict"]];
}

const effortFor = (model: string, reasoning: ChatRequest["reasoning"]): unknown =>
  write({ model, reasoning })["reasoning_effort"];

test("a model that cannot think, or not as told, is not told to", () => {
  for (const model of [
    "gpt-4o",
    "gpt-4o-mini",
    "gpt-4.1-nano",
    "openai/gpt-4o-2024-11-20",
    "gpt-5-chat-latest",
  ]) {
    expect(effortFor(model, { budgetTokens: 2000 })).toBeUndefined();
    expect(effortFor(model, { effort: "high" })).toBeUndefined();
  }
});

test("models of other vendors that refuse to be told are not told either", () => {
  for (const model of [
    "llama-3.3-70b-versatile",
    "meta-llama/llama-4-scout-17b-16e-instruct",
    "meta-llama/Meta-Llama-3.1-8B-Instruct-Turbo",
    "llama3.1-8b",
    "gemma2-9b-it",
    "gemma-3-27b-it",
    "moonshotai/kimi-k2-instruct-0905",
    "qwen/qwen3-32b",
    "grok-3",
    "grok-4",
    "grok-4-0709",
    "grok-4-latest",
    "grok-4-fast-reasoning",
    "grok-4-1-fast",
    "grok-4.20-0309-reasoning",
    "grok-code-fast-1",
    "mistral-large-latest",
    "mistral-medium-2508",
    "mistral-small-2506",
    "ministral-8b-latest",
    "magistral-medium-latest",
    "codestral-latest",
    "devstral-medium-latest",
    "open-mixtral-8x22b",
  ]) {
    const efforts = [{ effort: "medium" }, { budgetTokens: 2000 }, "off"] as const;
    expect([model, ...efforts.map((asked) => effortFor(model, asked))]).toEqual([
      model,
      undefined,
      undefined,
      undefined,
    ]);
  }
});

test("resellers, who leave out what a model does not take, are told what was wanted", () => {
  for (const model of ["x-ai/grok-4-fast", "x-ai/grok-4.1-fast", "mistralai/mistral-large-2512"]) {
    expect(effortFor(model, { effort: "medium" })).toBe("medium");
  }
});

test("an effort is the nearest that the model takes", () => {
  expect(effortFor("gpt-5", { effort: "max" })).toBe("high");
  expect(effortFor("gpt-5", { effort: "minimal" })).toBe("minimal");
  expect(effortFor("gpt-5.1", { effort: "xhigh" })).toBe("high");
  expect(effortFor("gpt-5.1", { effort: "minimal" })).toBe("low");
  expect(effortFor("gpt-5.1-mini", { effort: "xhigh" })).toBe("high");
  expect(effortFor("gpt-5.2", { effort: "max" })).toBe("xhigh");
  expect(effortFor("gpt-5.5", { effort: "max" })).toBe("xhigh");
  for (const model of ["gpt-5.6", "gpt-5.6-sol", "openai/gpt-5.6-luna", "gpt-6-sol", "gpt-6-luna"]) {
    expect(effortFor(model, { effort: "max" })).toBe("max");
    expect(effortFor(model, { effort: "xhigh" })).toBe("xhigh");
  }
  expect(effortFor("openai/o3", { effort: "max" })).toBe("high");
  expect(effortFor("o4-mini", { effort: "minimal" })).toBe("low");
  expect(effortFor("openai/gpt-oss-120b", { effort: "max" })).toBe("high");
  expect(effortFor("gpt-oss-20b", "off")).toBe("low");
  expect(effortFor("grok-3-mini", { effort: "medium" })).toBe("low");
  expect(effortFor("grok-4.3", { effort: "max" })).toBe("high");
  expect(effortFor("grok-4.3", "off")).toBe("none");
  expect(effortFor("grok-4.5", { effort: "minimal" })).toBe("low");
  expect(effortFor("mistral-small-latest", { effort: "medium" })).toBe("high");
  expect(effortFor("mistral-medium-3-5", "off")).toBe("none");
  for (const model of ["mistral-large-4", "mistral-large-4-0"]) {
    expect(effortFor(model, { effort: "high" })).toBe("high");
    expect(effortFor(model, "off")).toBe("none");
  }
  expect(effortFor("someone-elses", { effort: "max" })).toBe("max");
});

test("a model that takes tools only while it does not think is not asked to think beside them", () => {
  const tools = [{ name: "f", description: undefined, parameters: {}, strict: undefined }];
  const asked = [undefined, "off", { effort: "high" }, { budgetTokens: 9000 }] as const;
  const besideTools = (model: string): readonly unknown[] =>
    asked.map((reasoning) => write({ model, tools, reasoning })["reasoning_effort"]);
  const told = asked.map(() => "none");
  const untold = asked.map(() => undefined);
  for (const model of ["gpt-5.4", "gpt-5.4-mini", "openai/gpt-5.4-2026-03-05"]) {
    expect(besideTools(model)).toEqual(untold);
  }
  for (const model of [
    "gpt-5.5",
    "gpt-5.6",
    "gpt-5.6-terra",
    "gpt-5.6-luna",
    "gpt-6-sol",
    "gpt-6.1-terra",
    "openai/gpt-6.1-sol",
  ]) {
    expect(besideTools(model)).toEqual(told);
    expect(effortFor(model, { effort: "high" })).toBe("high");
  }
  for (const model of ["gpt-5.1", "gpt-5.1-mini", "gpt-5.2"])
    expect(besideTools(model)).toEqual([undefined, "none", "high", "medium"]);
  expect(besideTools("someone-elses")).toEqual([undefined, undefined, "high", "medium"]);
});

test("a model that takes tools elsewhere only refuses them by name, and thinks without them", () => {
  const tools = [{ name: "f", description: undefined, parameters: {}, strict: undefined }];
  for (const [model, most] of [
    ["gpt-6-astra", "max"],
    ["gpt-6.1-sol", "xhigh"],
  ] as const) {
    expect(() => write({ model, tools })).toThrow("tools: this model calls tools in /v1/responses");
    expect(effortFor(model, { effort: "max" })).toBe(most);
    expect(effortFor(model, "off")).toBe("low");
  }
});

test("a model that chooses by itself is not told how, and other wishes are refused by name", () => {
  for (const model of ["gpt-5", "gpt-5-mini", "o3", "openai/o4-mini"]) {
    expect(write({ model, temperature: 1, topP: 1 })).not.toHaveProperty("temperature");
    expect(() => write({ model, temperature: 0.5 })).toThrow("temperature");
    expect(() => write({ model, topP: 0.5 })).toThrow("top_p");
  }
  for (const model of ["gpt-4o", "gpt-5.1", "gpt-5-chat-latest", "someone-elses"]) {
    expect(write({ model, temperature: 0.5, topP: 0.5 })).toMatchObject({ temperature: 0.5, top_p: 0.5 });
  }
});

test("no thinking is the least effort that the model takes, and nothing to one that may take none", () => {
  const effortOf = (model: string): unknown => {
    const asked = [{ reasoning: "off" }, { reasoning: { budgetTokens: 0 } }] as const;
    const [off, noBudget] = asked.map((each) => write({ model, ...each })["reasoning_effort"]);
    expect(noBudget).toEqual(off);
    return off;
  };
  for (const model of ["gpt-5.1", "gpt-5.2-2025-12-11", "openai/gpt-5.4-mini", "gpt-6"]) {
    expect(effortOf(model)).toBe("none");
  }
  for (const model of ["gpt-5", "gpt-5-mini", "gpt-5-nano-2025-08-07"]) {
    expect(effortOf(model)).toBe("minimal");
  }
  for (const model of ["o1", "o3", "o4-mini"]) expect(effortOf(model)).toBe("low");
  const others = ["gpt-4o", "gpt-4o-mini", "gpt-4.1", "gpt-5-chat-latest", "gpt-5.2-pro", "gpt-5.1-codex"];
  for (const model of [...others, "o1-mini", "someone-elses"]) expect(effortOf(model)).toBeUndefined();
});

test("no thinking is told in their own word to those who think unless they are told it", () => {
  const told = (model: string, asked: Partial<ChatRequest>): unknown =>
    write({ model, ...asked })["thinking"];
  const off = { reasoning: "off" } as const;
  const forced = { tools: [tool], toolChoice: "required" } as const;
  for (const model of ["glm-4.5-air", "glm-4.7", "glm-5", "deepseek-v4", "kimi-k2.5"]) {
    expect(told(model, off)).toEqual({ type: "disabled" });
    expect(told(model, { reasoning: { effort: "low" } })).toBeUndefined();
    expect(told(model, {})).toBeUndefined();
  }
  for (const model of ["glm-4-plus", "zai-org/GLM-4.6", "someone-elses"])
    expect(told(model, off)).toBeUndefined();
  expect(told("deepseek-v4", forced)).toEqual({ type: "disabled" });
  expect(told("glm-4.7", forced)).toBeUndefined();
});

test("what this dialect cannot say is refused", () => {
  const image = { kind: "image", source: { url: "https://a/b" } } as const;
  const file = { kind: "file", source: { url: "https://a/b" }, name: undefined } as const;
  expect(() => write({ topK: 5 })).toThrow("top_k");
  expect(() => written({ role: "user", parts: [file] })).toThrow("messages");
  expect(() => written({ role: "assistant", parts: [image] })).toThrow(Inexpressible);
  expect(() => written({ role: "user", parts: [call] })).toThrow(Inexpressible);
});
