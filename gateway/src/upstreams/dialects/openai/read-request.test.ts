import { expect, test } from "bun:test";
import type { JsonObject } from "../../../platform/json.ts";
import type { ChatRequest } from "../chat.ts";
import { refusedField } from "../test-requests.ts";
import { openaiDialect } from "./openai-dialect.ts";

const read = (body: JsonObject): ChatRequest =>
  openaiDialect.readRequest({ messages: [], ...body }, { model: "m", stream: false });
const readMessages = (...messages: readonly JsonObject[]): ChatRequest => read({ messages });

const refused = (body: JsonObject): string | undefined => refusedField(() => read(body));
const refusedPart = (part: JsonObject): string | undefined =>
  refused({ messages: [{ role: "user", content: [part] }] });

test("model and stream are what was asked at the door, whatever the body says", () => {
  const asked = { model: "routed", stream: true };
  const request = openaiDialect.readRequest({ model: "x", stream: false, messages: [] }, asked);
  expect(request).toMatchObject(asked);
});

test("system and developer messages are the system prompt before the first word, and keep their place behind it", () => {
  const request = readMessages(
    { role: "system", content: "a" },
    { role: "developer", content: "b" },
    { role: "user", content: "hi", name: "Ann" },
    { role: "developer", content: [{ type: "text", text: "c" }], cache_control: { type: "ephemeral" } },
    { role: "system", content: "" },
  );
  expect(request.system).toEqual([
    { kind: "text", text: "a" },
    { kind: "text", text: "b" },
  ]);
  expect(request.messages).toEqual([
    { role: "user", parts: [{ kind: "text", text: "hi" }] },
    { role: "system", parts: [{ kind: "text", text: "c", cache: "5m" }] },
  ]);
});

test("a mark to cache is read where a caller sets one", () => {
  const marked = (ttl?: string): JsonObject => ({
    type: "text",
    text: "t",
    cache_control: { type: "ephemeral", ...(ttl === undefined ? {} : { ttl }) },
  });
  const { system } = readMessages({ role: "system", content: [marked(), marked("1h")] });
  expect(system.map(({ cache }) => cache)).toEqual(["5m", "1h"]);
});

test("so is OpenAI's own, of which the newest four are heeded", () => {
  const marked = { type: "text", text: "t", prompt_cache_breakpoint: { mode: "explicit" } };
  const request = readMessages(
    { role: "system", content: [marked] },
    { role: "user", content: [marked, { type: "text", text: "t" }] },
    { role: "assistant", content: "a" },
    { role: "user", content: [marked, marked, marked] },
  );
  expect(request.system).toEqual([{ kind: "text", text: "t" }]);
  const marks = request.messages.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.kind === "text" ? [part.cache] : [])),
  );
  expect(marks).toEqual(["5m", undefined, undefined, "5m", "5m", "5m"]);
  const { system } = readMessages({ role: "system", content: [marked] });
  expect(system).toEqual([{ kind: "text", text: "t", cache: "5m" }]);
});

test("tools and images count among them, tools as the oldest", () => {
  const cache_control = { type: "ephemeral" };
  const tool = { type: "function", function: { name: "f" }, cache_control };
  const image = { type: "image_url", image_url: { url: "https://a.example/a.png" }, cache_control };
  const marksOf = (...images: readonly JsonObject[]): unknown => {
    const { tools, messages } = read({ tools: [tool], messages: [{ role: "user", content: images }] });
    return [tools, messages[0]?.parts].map((each) => each?.map((part) => "cache" in part && part.cache));
  };
  expect(marksOf(image, image, image)).toEqual([["5m"], ["5m", "5m", "5m"]]);
  expect(marksOf(image, image, image, image)).toEqual([[undefined], ["5m", "5m", "5m", "5m"]]);
});

test("what a part or a tool says beyond what is read is refused by its name, unless it says nothing", () => {
  const url = "https://a.example/a.png";
  const file = { file_data: "data:application/pdf;base64,QUI=", filename: "a.pdf" };
  expect(refusedPart({ type: "text", text: "t", x_unknown: 1 })).toBe("messages[0].content[0].x_unknown");
  expect(refusedPart({ type: "image_url", image_url: { url }, text: "t" })).toBe(
    "messages[0].content[0].text",
  );
  expect(refusedPart({ type: "image_url", image_url: { url, crop: [1] } })).toBe(
    "messages[0].content[0].image_url.crop",
  );
  expect(refusedPart({ type: "file", file: { ...file, pages: "1" } })).toBe(
    "messages[0].content[0].file.pages",
  );
  const mode = { mode: "explicit" };
  for (const harmless of [
    { type: "text", text: "t", x_unknown: null, annotations: [] },
    { type: "image_url", image_url: { url }, cache_control: { type: "ephemeral" } },
    { type: "image_url", image_url: { url }, prompt_cache_breakpoint: mode },
    { type: "file", file, prompt_cache_breakpoint: mode },
  ])
    expect(refusedPart(harmless)).toBeUndefined();
  const said = { type: "text", text: "t", annotations: [{ type: "url_citation" }], index: 0 };
  expect(refused({ messages: [{ role: "assistant", content: [said] }] })).toBeUndefined();

  const tool = (more: JsonObject, inFunction: JsonObject = {}): string | undefined =>
    refused({ tools: [{ type: "function", function: { name: "f", ...inFunction }, ...more }] });
  expect(tool({ defer_loading: true })).toBe("tools[0].defer_loading");
  expect(tool({}, { x_unknown: 1 })).toBe("tools[0].function.x_unknown");
  expect(tool({ defer_loading: false, cache_control: { type: "ephemeral" } }, { strict: null })).toBe(
    undefined,
  );
});

test("images are read from data and from addresses, and empty texts left out", () => {
  const { messages } = readMessages({
    role: "user",
    content: [
      { type: "text", text: "" },
      { type: "image_url", image_url: { url: "data:image/png;base64,QUI=" } },
      { type: "image_url", image_url: { url: "DATA:image/jpeg;charset=utf-8;BASE64,QQ==", detail: "auto" } },
      { type: "image_url", image_url: { url: "https://a.example/x,y;base64.png", detail: "high" } },
    ],
  });
  expect(messages[0]?.parts).toEqual([
    { kind: "image", source: { mimeType: "image/png", base64: "QUI=" } },
    { kind: "image", source: { mimeType: "image/jpeg", base64: "QQ==" } },
    { kind: "image", source: { url: "https://a.example/x,y;base64.png" } },
  ]);
});

test("a turn with tools is read: thinking, text, calls, and results of either form", () => {
  const call = (id: string): JsonObject => ({
    id,
    type: "function",
    function: { name: "f", arguments: "{" },
  });
  const signed = { ...call("2"), extra_content: { google: { thought_signature: "sig" } } };
  const { messages } = readMessages(
    {
      role: "assistant",
      content: "so",
      reasoning_content: "hm",
      tool_calls: [call("1"), signed],
      refusal: null,
    },
    { role: "tool", tool_call_id: "1", content: "one" },
    { role: "tool", tool_call_id: "2", name: "f", content: [{ type: "text", text: "two" }] },
    { role: "assistant", content: null, refusal: "no" },
    { role: "assistant", content: [{ type: "refusal", refusal: "never" }] },
  );
  const result = { kind: "tool_result", isError: false };
  expect(messages).toEqual([
    {
      role: "assistant",
      parts: [
        { kind: "reasoning", text: "hm" },
        { kind: "text", text: "so" },
        { kind: "tool_call", id: "1", name: "f", arguments: "{" },
        { kind: "tool_call", id: "2", name: "f", arguments: "{", signature: "sig" },
      ],
    },
    {
      role: "user",
      parts: [{ ...result, callId: "1", name: undefined, content: [{ kind: "text", text: "one" }] }],
    },
    {
      role: "user",
      parts: [{ ...result, callId: "2", name: "f", content: [{ kind: "text", text: "two" }] }],
    },
    { role: "assistant", parts: [{ kind: "text", text: "no" }] },
    { role: "assistant", parts: [{ kind: "text", text: "never" }] },
  ] as unknown as typeof messages);
});

test("what Mistral's models thought comes back from who answers with their words, and from nobody else", () => {
  const thought = { type: "thinking", thinking: [{ type: "text", text: "hm" }] };
  const said = { type: "text", text: "so" };
  expect(readMessages({ role: "assistant", content: [thought, said] }).messages).toEqual([
    {
      role: "assistant",
      parts: [
        { kind: "reasoning", text: "hm" },
        { kind: "text", text: "so" },
      ],
    },
  ]);
  expect(refusedPart(thought)).toBe("messages[0].content[0].type");
  const unread = [thought, { type: "video" }];
  expect(refused({ messages: [{ role: "assistant", content: unread }] })).toBe("messages[0].content[1].type");
});

test("a member that others have no place for is refused by its name, but not a speaker's name or what a model said", () => {
  for (const role of ["system", "developer", "user", "tool"]) {
    const message = { role, content: "x", name: "bob", ...(role === "tool" ? { tool_call_id: "1" } : {}) };
    const first = { role: "user", content: "a" };
    expect(() => readMessages(first, { ...message, weight: null })).not.toThrow();
    expect(() => readMessages(first, { ...message, weight: 1 })).toThrow("messages[1].weight: cannot");
  }
  const said = { role: "assistant", content: "x", name: "bob", annotations: [{}], reasoning_details: [{}] };
  expect(readMessages(said).messages).toEqual([{ role: "assistant", parts: [{ kind: "text", text: "x" }] }]);
});

test("a tool without parameters takes an empty object", () => {
  const { tools } = read({ tools: [{ type: "function", function: { name: "f" } }] });
  expect(tools).toEqual([
    { name: "f", description: undefined, parameters: { type: "object", properties: {} }, strict: undefined },
  ]);
});

test("the newer limit on output wins over the older one, and null is no limit", () => {
  expect(read({ max_tokens: 5 }).outputTokensMax).toBe(5);
  expect(read({ max_tokens: 5, max_completion_tokens: 7 }).outputTokensMax).toBe(7);
  expect(read({ max_tokens: 5, max_completion_tokens: null }).outputTokensMax).toBe(5);
  expect(read({ max_tokens: null }).outputTokensMax).toBeUndefined();
});

test("one stop text is a list of one", () => {
  expect(read({ stop: "END" }).stop).toEqual(["END"]);
  expect(read({ stop: ["a", "b"] }).stop).toEqual(["a", "b"]);
  expect(read({ stop: null }).stop).toEqual([]);
});

test("the description of a schema is kept inside it", () => {
  const json_schema = { name: "n", description: "d", schema: { type: "object" } };
  expect(read({ response_format: { type: "json_schema", json_schema } }).output).toEqual({
    kind: "json_schema",
    name: "n",
    schema: { description: "d", type: "object" },
    strict: undefined,
  });
});

test("the end user is told by either name", () => {
  expect(read({ user: "u", safety_identifier: "s" }).endUser).toBe("u");
  expect(read({ safety_identifier: "s" }).endUser).toBe("s");
});

test("who does not want thinking may say so in Qwen's word, unless an effort is asked for", () => {
  expect(read({ enable_thinking: false })).toEqual(read({ reasoning_effort: "none" }));
  expect(read({ enable_thinking: false }).reasoning).toBe("off");
  expect(read({ enable_thinking: false, reasoning_effort: "low" }).reasoning).toEqual({ effort: "low" });
  expect(read({ enable_thinking: null }).reasoning).toBeUndefined();
  expect(refused({ enable_thinking: true })).toBe("enable_thinking");
});

test("thinking may be asked for, or not, in Anthropic's word, unless an effort is", () => {
  const thinking = (type: string, more?: object): JsonObject => ({ thinking: { type, ...more } });
  expect(read(thinking("disabled"))).toEqual(read({ reasoning_effort: "none" }));
  expect(read(thinking("enabled", { budget_tokens: 2_000 })).reasoning).toEqual({ budgetTokens: 2_000 });
  const effort = { reasoning_effort: "low" };
  expect(read({ ...thinking("enabled"), ...effort })).toEqual(read(effort));
  expect(read({ thinking: null })).toEqual(read({}));
  expect(refused(thinking("enabled"))).toBe("thinking.budget_tokens");
  expect(refused(thinking("enabled", { budget_tokens: "2000" }))).toBe("thinking.budget_tokens");
  expect(refused(thinking("adaptive"))).toBe("thinking.type");
  expect(refused(thinking("disabled", { display: "omitted" }))).toBe("thinking.display");
  expect(refused({ thinking: true })).toBe("thinking");
});

const asksNothing: readonly JsonObject[] = [
  { n: 1 },
  { n: null, logprobs: false, top_logprobs: 0, logit_bias: {}, audio: null, prediction: null },
  { modalities: ["text"], verbosity: "medium", functions: [], function_call: "auto" },
  { stream_options: { include_usage: true }, metadata: { a: "b" }, store: true, service_tier: "flex" },
  { prompt_cache_key: "k", prompt_cache_retention: "24h", api_key: "x", api_base: "http://elsewhere" },
  { prompt_cache_options: { ttl: "24h" } },
  { temperature: null, tools: null, tool_choice: null, response_format: null, reasoning_effort: null },
];

test.each(asksNothing)("%j says nothing that must be translated", (body) => {
  expect(read(body)).toEqual(read({}));
});

const cannotBeTranslated: readonly (readonly [field: string, value: unknown])[] = [
  ["n", 2],
  ["logprobs", true],
  ["top_logprobs", 3],
  ["logit_bias", { "50256": -100 }],
  ["audio", { voice: "alloy", format: "mp3" }],
  ["modalities", ["text", "audio"]],
  ["prediction", { type: "content", content: "x" }],
  ["functions", [{ name: "f" }]],
  ["function_call", { name: "f" }],
  ["verbosity", "low"],
  ["web_search_options", {}],
  ["a_member_of_tomorrow", 1],
  ["constructor", 1],
  ["reasoning_effort", "extreme"],
  ["tool_choice", "any"],
  ["temperature", "hot"],
  ["seed", Infinity],
  ["stop", [1]],
  ["messages", "hi"],
];

test.each(cannotBeTranslated)("%s is refused by its name when it is %j", (field, value) => {
  expect(refused({ [field]: value })).toBe(field);
});

const allowedOf = (mode: string, ...tools: readonly JsonObject[]): JsonObject => ({
  tools: ["f", "g", "h"].map((name) => ({ type: "function", function: { name } })),
  tool_choice: { type: "allowed_tools", allowed_tools: { mode, tools } },
});
const functionOf = (name: string): JsonObject => ({ type: "function", function: { name } });

test("Google's validated choice is a free one among strict functions", () => {
  const tools = [functionOf("f"), { type: "function", function: { name: "g", strict: false } }];
  expect(read({ tools, tool_choice: "validated" })).toMatchObject({
    toolChoice: "auto",
    tools: [{ strict: true }, { strict: true }],
  });
});

test("a choice among some of the functions is one among all where no others are declared", () => {
  const asked = (mode: string, ...names: readonly string[]): unknown[] => {
    const { tools, toolChoice } = read(allowedOf(mode, ...names.map(functionOf)));
    return [toolChoice, tools.map(({ name }) => name)];
  };
  expect(asked("auto", "h", "f")).toEqual(["auto", ["f", "h"]]);
  expect(asked("auto", "g")).toEqual(["auto", ["g"]]);
  expect(asked("required", "f", "g")).toEqual(["required", ["f", "g"]]);
  expect(asked("required", "g", "g")).toEqual([{ name: "g" }, ["f", "g", "h"]]);
});

const insideCannot: readonly (readonly [field: string, body: JsonObject])[] = [
  ["tools[0].type", { tools: [{ type: "custom", custom: { name: "c" } }] }],
  ["tools[0].function.name", { tools: [{ type: "function", function: {} }] }],
  ["tool_choice.type", { tool_choice: { type: "custom", custom: { name: "c" } } }],
  ["tool_choice.allowed_tools", { tool_choice: { type: "allowed_tools" } }],
  ["tool_choice.allowed_tools.mode", allowedOf("sometimes", functionOf("f"))],
  ["tool_choice.allowed_tools.tools", allowedOf("auto")],
  ["tool_choice.allowed_tools.tools", allowedOf("auto", functionOf("x"))],
  ["tool_choice.allowed_tools.tools[0].type", allowedOf("auto", { type: "custom", custom: { name: "c" } })],
  ["tool_choice.allowed_tools.tools[0].function.name", allowedOf("auto", { type: "function", function: {} })],
  ["response_format.type", { response_format: { type: "grammar", grammar: "g" } }],
  ["response_format.json_schema.name", { response_format: { type: "json_schema", json_schema: {} } }],
  ["messages[0].role", { messages: [{ role: "function", name: "f", content: "x" }] }],
  ["messages[0]", { messages: ["hi"] }],
  ["messages[0].content", { messages: [{ role: "user", content: 5 }] }],
  ["messages[0].tool_call_id", { messages: [{ role: "tool", content: "x" }] }],
  ["messages[0].function_call", { messages: [{ role: "assistant", function_call: { name: "f" } }] }],
  ["messages[0].audio", { messages: [{ role: "assistant", audio: { id: "a" } }] }],
  [
    "messages[0].tool_calls[0].type",
    { messages: [{ role: "assistant", tool_calls: [{ id: "1", type: "custom" }] }] },
  ],
];

test.each(insideCannot)("%s is refused by its path in %j", (field, body) => {
  expect(refused(body)).toBe(field);
});

test("a part that is neither text nor a full image is refused by its path", () => {
  const at = "messages[0].content[0]";
  expect(refusedPart({ type: "input_audio", input_audio: { data: "", format: "wav" } })).toBe(`${at}.type`);
  expect(refusedPart({ type: "file", file: { file_id: "f" } })).toBe(`${at}.file.file_id`);
  expect(refusedPart({ type: "image_url", image_url: { url: "http://a/b", detail: "low" } })).toBe(
    `${at}.image_url.detail`,
  );
  for (const url of ["data:image/png,raw", "data:;base64,QQ==", "data:", "file:///etc/passwd", "QUJD"]) {
    expect(refusedPart({ type: "image_url", image_url: { url } })).toBe(`${at}.image_url.url`);
  }
});

test("what a model drew is read where our own answers show it", () => {
  const images = [{ type: "image_url", image_url: { url: "https://a/b" } }];
  expect(readMessages({ role: "assistant", content: "Here.", images }).messages).toEqual([
    {
      role: "assistant",
      parts: [
        { kind: "text", text: "Here." },
        { kind: "image", source: { url: "https://a/b" } },
      ],
    },
  ]);
});

test("instructions and the words of earlier answers hold no images", () => {
  const content = [{ type: "image_url", image_url: { url: "https://a/b" } }];
  for (const role of ["system", "assistant"]) {
    expect(refused({ messages: [{ role, content }] })).toBe("messages[0].content");
  }
});
