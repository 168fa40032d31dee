// One conversation in four dialects: the same words, the same calls, the same count of tokens.

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { at, createTestSandbox, eventsIn } from "../test-sandbox.ts";

interface Said {
  readonly text: string;
  readonly calls: readonly { readonly name: unknown; readonly input: unknown }[];
  readonly input: number;
  readonly output: number;
}

interface Asked {
  readonly system: string;
  readonly question: string;
  readonly tools?: readonly string[];
  readonly image?: boolean;
  readonly limit?: number;
  /** Every tool was called before, and answered with its name. */
  readonly answered?: boolean;
}

const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const pixel = "iVBORw0KGgo=";
function textAt(value: unknown, ...steps: readonly (string | number)[]): string {
  const text = at(value, ...steps);
  return typeof text === "string" ? text : "";
}
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

async function openAi({ system, question, tools = [], image, limit, answered }: Asked): Promise<Said> {
  const parts = [
    { type: "text", text: question },
    { type: "image_url", image_url: { url: `data:image/png;base64,${pixel}` } },
  ];
  const calls = tools.map((name) => ({ id: name, type: "function", function: { name, arguments: "{}" } }));
  const results = tools.map((name) => ({ role: "tool", tool_call_id: name, content: name }));
  const past = answered === true ? [{ role: "assistant", content: null, tool_calls: calls }, ...results] : [];
  const { json } = await createTestSandbox().ask("POST", "/openai/chat/completions", {
    body: {
      model: "m",
      messages: [
        { role: "system", content: system },
        { role: "user", content: image === true ? parts : question },
        ...past,
      ],
      tools: tools.map((name) => ({ type: "function", function: { name, parameters } })),
      max_tokens: limit,
    },
  });
  const message = at(json, "choices", 0, "message");
  return {
    text: textAt(message, "content"),
    calls: list(at(message, "tool_calls")).map((call) => ({
      name: at(call, "function", "name"),
      input: JSON.parse(String(at(call, "function", "arguments"))) as unknown,
    })),
    input: Number(at(json, "usage", "prompt_tokens")),
    output: Number(at(json, "usage", "completion_tokens")),
  };
}

async function responses({ system, question, tools = [], image, limit, answered }: Asked): Promise<Said> {
  const parts = [
    { type: "input_text", text: question },
    { type: "input_image", image_url: `data:image/png;base64,${pixel}` },
  ];
  const calls = tools.map((name) => ({ type: "function_call", call_id: name, name, arguments: "{}" }));
  const results = tools.map((name) => ({ type: "function_call_output", call_id: name, output: name }));
  const { json } = await createTestSandbox().ask("POST", "/openai/responses", {
    body: {
      model: "m",
      instructions: system,
      input: [
        { role: "user", content: image === true ? parts : question },
        ...(answered === true ? [...calls, ...results] : []),
      ],
      tools: tools.map((name) => ({ type: "function", name, parameters })),
      max_output_tokens: limit,
    },
  });
  const items = list(at(json, "output"));
  const called = items.filter((item) => at(item, "type") === "function_call");
  return {
    text: items.map((item) => textAt(item, "content", 0, "text")).join(""),
    calls: called.map((call) => ({
      name: at(call, "name"),
      input: JSON.parse(String(at(call, "arguments"))) as unknown,
    })),
    input: Number(at(json, "usage", "input_tokens")),
    output: Number(at(json, "usage", "output_tokens")),
  };
}

async function anthropic({ system, question, tools = [], image, limit, answered }: Asked): Promise<Said> {
  const parts = [
    { type: "text", text: question },
    { type: "image", source: { type: "base64", media_type: "image/png", data: pixel } },
  ];
  const calls = tools.map((name) => ({ type: "tool_use", id: name, name, input: {} }));
  const results = tools.map((name) => ({ type: "tool_result", tool_use_id: name, content: name }));
  const past = [
    { role: "assistant", content: calls },
    { role: "user", content: results },
  ];
  const { json } = await createTestSandbox().ask("POST", "/anthropic/messages", {
    body: {
      model: "m",
      system,
      messages: [
        { role: "user", content: image === true ? parts : question },
        ...(answered === true ? past : []),
      ],
      tools: tools.map((name) => ({ name, input_schema: parameters })),
      max_tokens: limit ?? 4096,
    },
  });
  const blocks = list(at(json, "content"));
  const called = blocks.filter((block) => at(block, "type") === "tool_use");
  return {
    text: blocks.map((block) => textAt(block, "text")).join(""),
    calls: called.map((call) => ({ name: at(call, "name"), input: at(call, "input") })),
    input: Number(at(json, "usage", "input_tokens")),
    output: Number(at(json, "usage", "output_tokens")),
  };
}

async function gemini({ system, question, tools = [], image, limit, answered }: Asked): Promise<Said> {
  const inline = { inline_data: { mime_type: "image/png", data: pixel } };
  const calls = tools.map((name) => ({ functionCall: { name, args: {} } }));
  const results = tools.map((name) => ({ functionResponse: { name, response: { output: name } } }));
  const past = [
    { role: "model", parts: calls },
    { role: "user", parts: results },
  ];
  const upper = { type: "OBJECT", properties: { city: { type: "STRING" } }, required: ["city"] };
  const { json } = await createTestSandbox().ask("POST", "/gemini/models/m:generateContent", {
    body: {
      system_instruction: { parts: [{ text: system }] },
      contents: [
        { role: "user", parts: [{ text: question }, ...(image === true ? [inline] : [])] },
        ...(answered === true ? past : []),
      ],
      tools: [{ functionDeclarations: tools.map((name) => ({ name, parameters: upper })) }],
      generationConfig: { maxOutputTokens: limit },
    },
  });
  const parts = list(at(json, "candidates", 0, "content", "parts"));
  const called = parts.filter((part) => at(part, "functionCall") !== undefined);
  return {
    text: parts.map((part) => textAt(part, "text")).join(""),
    calls: called.map((part) => ({
      name: at(part, "functionCall", "name"),
      input: at(part, "functionCall", "args"),
    })),
    input: Number(at(json, "usageMetadata", "promptTokenCount")),
    output: Number(at(json, "usageMetadata", "candidatesTokenCount") ?? 0),
  };
}

async function inEveryDialect(asked: Asked): Promise<Said> {
  const said = await openAi(asked);
  expect(await responses(asked)).toEqual(said);
  expect(await anthropic(asked)).toEqual(said);
  expect(await gemini(asked)).toEqual(said);
  return said;
}

describe("the same conversation has the same answer in every dialect", () => {
  const system = "Be brief.";

  test("a question, whole and cut by the limit", async () => {
    const question = "How do I water a cactus?";
    expect((await inEveryDialect({ system, question })).text).toContain(question);
    expect((await inEveryDialect({ system, question, limit: 5 })).output).toBe(5);
  });

  test("an image, which is counted and spoken of", async () => {
    const said = await inEveryDialect({ system, question: "What is this?", image: true });
    expect(said.text).toContain("I looked at the image.");
    expect(said.input - (await openAi({ system, question: "What is this?" })).input).toBe(86);
  });

  test("several tools named are all called, and once they answered the loop ends", async () => {
    const tools = ["get_weather", "get_time", "get"];
    const question = "Use get_weather and get_time for Rome.";
    const { calls } = await inEveryDialect({ system, question, tools });
    expect(calls.map(({ name }) => name)).toEqual(["get_weather", "get_time"]);

    const ended = await inEveryDialect({ system, question, tools, answered: true });
    expect([ended.calls.length, ended.text]).toEqual([
      0,
      "The tool answered: get_weather; get_time; get. That settles your question about get_weather.",
    ]);
  });

  test("whatever is said", async () => {
    const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(text, text, async (instructions, question) => {
        await inEveryDialect({ system: instructions, question });
      }),
      { numRuns: 50 },
    );
  });
});

const streams: readonly [string, string, object, (data: unknown) => string][] = [
  [
    "openai",
    "/openai/chat/completions",
    { model: "m", messages: [{ role: "user", content: "How do cacti drink?" }], stream: true },
    (data) => textAt(data, "choices", 0, "delta", "content"),
  ],
  [
    "responses",
    "/openai/responses",
    { model: "m", input: "How do cacti drink?", stream: true },
    (data) => (at(data, "type") === "response.output_text.delta" ? textAt(data, "delta") : ""),
  ],
  [
    "anthropic",
    "/anthropic/messages",
    {
      model: "m",
      max_tokens: 99,
      messages: [{ role: "user", content: "How do cacti drink?" }],
      stream: true,
    },
    (data) => textAt(data, "delta", "text"),
  ],
  [
    "gemini",
    "/gemini/models/m:streamGenerateContent?alt=sse",
    { contents: [{ parts: [{ text: "How do cacti drink?" }] }] },
    (data) => textAt(data, "candidates", 0, "content", "parts", 0, "text"),
  ],
];

test.each(streams)(
  "a stream of %s says and bills what the whole answer does",
  async (_, path, body, textIn) => {
    const { ask, book } = createTestSandbox();
    const { text } = await openAi({ system: "", question: "How do cacti drink?" });
    const streamed = await ask("POST", path, { body });
    expect(streamed.headers.get("content-type")).toStartWith("text/event-stream");
    const events = eventsIn(streamed.text);
    expect(events.map(({ data }) => textIn(data)).join("")).toBe(text);
    expect(events.length).toBeGreaterThan(10);

    await ask("POST", path.replace("stream", "").replace("Generate", "generate"), {
      body: path.includes("gemini") ? body : { ...body, stream: false },
    });
    const [first, second] = book.read().entries;
    expect(first).toMatchObject({ status: 200, events_sent: events.length });
    expect(first?.billed).toEqual(second?.billed ?? null);
    expect(first).not.toHaveProperty("aborted");
  },
);
