import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../../platform/json.ts";
import type { ChatPart, ChatRequest } from "../chat.ts";
import { dialects } from "../dialects.ts";
import { marked } from "../marks.ts";
import { refusedField } from "../test-requests.ts";
import { responsesDialect } from "./responses-dialect.ts";

const read = (body: JsonObject): ChatRequest =>
  responsesDialect.readRequest(body, { model: "m", stream: false });
const readItems = (...input: readonly unknown[]): ChatRequest => read({ input });
const refused = (body: JsonObject): string | undefined => refusedField(() => read(body));

const image = { type: "input_image", image_url: "data:image/png;base64,AAAA" };
const text = (said: string) => ({ kind: "text", text: said }) as const;

describe("what was said", () => {
  test("instructions and messages before the first word are the system prompt; later ones keep their place", () => {
    const { system, messages } = read({
      instructions: "a",
      input: [
        { type: "message", role: "developer", content: [{ type: "input_text", text: "b" }] },
        { role: "user", content: "hi", phase: null },
        { role: "system", content: "c" },
        { role: "developer", content: "" },
      ],
    });
    expect(system).toEqual([text("a"), text("b")]);
    expect(messages).toEqual([
      { role: "user", parts: [text("hi")] },
      { role: "system", parts: [text("c")] },
    ]);
  });

  test("a text alone is what the user says", () => {
    expect(read({ input: "hi" }).messages).toEqual([{ role: "user", parts: [text("hi")] }]);
    expect(read({}).messages).toEqual([]);
  });

  test("all that a model did until it was answered is one turn", () => {
    const { messages } = readItems(
      { role: "user", content: "Look up both." },
      { type: "reasoning", id: "rs_1", summary: [], encrypted_content: marked("unsigned", "Both.") },
      {
        type: "message",
        role: "assistant",
        id: "msg_1",
        status: "completed",
        phase: "commentary",
        content: [{ type: "output_text", text: "Looking.", annotations: [], logprobs: [] }],
      },
      { type: "function_call", id: "fc_1", call_id: "c1", name: "look", arguments: '{"a":1}' },
      { type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search" } },
      { type: "function_call", call_id: "c2", name: "look", arguments: "{}" },
      { type: "function_call_output", call_id: "c1", output: "sun" },
      { type: "function_call_output", call_id: "c2", output: [{ type: "input_text", text: "snow" }] },
      { role: "assistant", content: [{ type: "refusal", refusal: "No." }] },
    );
    const result = (callId: string, said: string): ChatPart => ({
      kind: "tool_result",
      callId,
      name: undefined,
      content: [text(said)],
      isError: false,
    });
    expect(messages).toEqual([
      { role: "user", parts: [text("Look up both.")] },
      {
        role: "assistant",
        parts: [
          { kind: "reasoning", text: "Both." },
          text("Looking."),
          { kind: "tool_call", id: "c1", name: "look", arguments: '{"a":1}' },
          { kind: "tool_call", id: "c2", name: "look", arguments: "{}" },
        ],
      },
      { role: "user", parts: [result("c1", "sun")] },
      { role: "user", parts: [result("c2", "snow")] },
      { role: "assistant", parts: [text("No.")] },
    ]);
  });

  test("images and files are read wherever they lie, but for what lies with OpenAI", () => {
    const pdf = "data:application/pdf;base64,AAAA";
    const { messages } = readItems({
      role: "user",
      content: [
        { type: "input_image", image_url: "https://x.test/a.png", detail: "high" },
        { type: "input_image", image_url: "data:image/png;base64,AAAA", detail: "auto" },
        { type: "input_file", filename: "a.pdf", file_data: pdf },
        { type: "input_file", file_url: "https://x.test/b.pdf" },
      ],
    });
    expect(messages[0]?.parts).toEqual([
      { kind: "image", source: { url: "https://x.test/a.png" } },
      { kind: "image", source: { mimeType: "image/png", base64: "AAAA" } },
      { kind: "file", source: { mimeType: "application/pdf", base64: "AAAA" }, name: "a.pdf" },
      { kind: "file", source: { url: "https://x.test/b.pdf" }, name: undefined },
    ]);
    const part = (member: JsonObject) => refused({ input: [{ role: "user", content: [member] }] });
    const at = "input[0].content[0]";
    expect(part({ type: "input_image", file_id: "file_1" })).toBe(`${at}.file_id`);
    expect(part({ type: "input_file", file_id: "file_1" })).toBe(`${at}.file_id`);
    expect(part({ type: "input_image", image_url: "https://x.test/a", detail: "low" })).toBe(`${at}.detail`);
    expect(part({ type: "input_audio", input_audio: {} })).toBe(`${at}.type`);
    expect(part({ type: "input_text", text: "a", novel: true })).toBe(`${at}.novel`);
  });

  test("a picture that a model drew comes back as one", () => {
    const drawn = { type: "image_generation_call", id: "ig_1", status: "completed", result: "AAAA" };
    const partsOf = (item: object) => readItems(item).messages[0]?.parts;
    expect(partsOf(drawn)).toEqual([{ kind: "image", source: { mimeType: "image/png", base64: "AAAA" } }]);
    expect(partsOf({ ...drawn, output_format: "webp" })).toMatchObject([
      { source: { mimeType: "image/webp" } },
    ]);
    expect(refused({ input: [{ ...drawn, result: null }] })).toBe("input[0]");
  });

  test("marks to cache are read on parts", () => {
    const part = { type: "input_text", text: "a" };
    const { messages } = readItems({
      role: "user",
      content: [
        { ...part, cache_control: { type: "ephemeral", ttl: "1h" } },
        { ...part, prompt_cache_breakpoint: { mode: "explicit" } },
      ],
    });
    expect(messages[0]?.parts).toEqual([
      { ...text("a"), cache: "1h" },
      { ...text("a"), cache: "5m" },
    ]);
  });
});

describe("thoughts", () => {
  const partsOf = (...sealed: readonly unknown[]) =>
    readItems(...sealed.map((encrypted_content) => ({ type: "reasoning", summary: [], encrypted_content })), {
      type: "function_call",
      call_id: "c",
      name: "f",
      arguments: "{}",
    }).messages.flatMap(({ parts }) => parts);
  const call = { kind: "tool_call", id: "c", name: "f", arguments: "{}" } as const;

  test("that were sealed here are what they were", () => {
    expect(
      partsOf(
        marked("anthropic", JSON.stringify({ text: "Hm.", signature: "sig" })),
        marked("redacted", "data"),
      ),
    ).toEqual([
      { kind: "reasoning", text: "Hm.", signature: "sig" },
      { kind: "reasoning", text: "", redacted: "data" },
      call,
    ]);
  });

  test("that only hold a signature give it to the next call, and to no other", () => {
    expect(partsOf(marked("gemini", "sig"))).toEqual([{ ...call, signature: "sig" }]);
    const { messages } = readItems(
      { type: "reasoning", summary: [], encrypted_content: marked("gemini", "sig") },
      { type: "function_call", call_id: "c", name: "f", arguments: "{}" },
      { type: "function_call", call_id: "d", name: "f", arguments: "{}" },
    );
    expect(messages[0]?.parts).toEqual([
      { ...call, signature: "sig" },
      { ...call, id: "d" },
    ]);
  });

  test("that OpenAI sealed, or that were spoilt, are told to nobody", () => {
    const spoilt = [marked("anthropic", "{"), marked("anthropic", "5"), marked("anthropic", '{"text":1}')];
    expect(partsOf("gAAAAAB", null, undefined, "tollgate", ...spoilt)).toEqual([call]);
  });
});

describe("tools", () => {
  const city = { type: "object", properties: { city: { type: "string" } } };

  test("are functions, side by side or in namespaces, at the top or in an item", () => {
    const { tools } = read({
      tools: [
        { type: "function", name: "a", description: "A.", parameters: city, strict: true },
        { type: "namespace", name: "mcp__x__", description: "X.", tools: [{ type: "function", name: "b" }] },
        { type: "namespace", name: "own", tools: [{ type: "function", name: "c", defer_loading: true }] },
      ],
      input: [
        { type: "additional_tools", role: "developer", tools: [{ type: "function", name: "d" }] },
        { role: "user", content: "hi" },
      ],
    });
    expect(tools.map(({ name }) => name)).toEqual(["a", "mcp__x__b", "own__c", "d"]);
    expect(tools[0]).toEqual({ name: "a", description: "A.", parameters: city, strict: true });
    expect(tools[1]?.parameters).toEqual({ type: "object", properties: {} });
  });

  test("of free text are functions of one text, which are told their grammar", () => {
    const format = { type: "grammar", syntax: "lark", definition: 'start: "*** Begin"' };
    const { tools } = read({
      tools: [
        { type: "custom", name: "patch", description: "Patches.", format },
        { type: "custom", name: "say", format: { type: "text" } },
      ],
    });
    const parameters = {
      type: "object",
      properties: { input: { type: "string" } },
      required: ["input"],
      additionalProperties: false,
    };
    expect(tools[0]).toMatchObject({ name: "patch", parameters });
    expect(tools[0]?.description).toMatch(/^Patches\.\n\n.*lark.*\nstart: "\*\*\* Begin"$/s);
    expect(tools[1]).toMatchObject({ name: "say", description: undefined, parameters });
  });

  test("called earlier have the names that they are told under now", () => {
    const { messages } = readItems(
      { type: "custom_tool_call", call_id: "c", name: "patch", input: 'a "b"' },
      { type: "function_call", call_id: "d", name: "b", namespace: "mcp__x", arguments: "{}" },
      { type: "custom_tool_call_output", call_id: "c", output: "done" },
    );
    expect(messages).toMatchObject([
      {
        parts: [
          { name: "patch", arguments: JSON.stringify({ input: 'a "b"' }) },
          { name: "mcp__x__b", arguments: "{}" },
        ],
      },
      { parts: [{ kind: "tool_result", callId: "c", content: [text("done")] }] },
    ]);
  });

  test("that only OpenAI runs are refused by their place", () => {
    for (const type of ["web_search", "local_shell", "mcp"]) {
      expect(refused({ tools: [{ type: "function", name: "a" }, { type }] })).toBe("tools[1].type");
    }
    const item = { type: "additional_tools", tools: [{ type: "web_search" }] };
    expect(refused({ input: [item] })).toBe("input[0].tools[0].type");
    const inner = { type: "namespace", name: "b", tools: [] };
    expect(refused({ tools: [{ type: "namespace", name: "a", tools: [inner] }] })).toBe("tools[0].tools[0]");
    expect(refused({ tools: [{ type: "function", name: "a", novel: 1 }] })).toBe("tools[0].novel");
  });

  test("are chosen by name, of either kind", () => {
    const tools = ["a", "b"].map((name) => ({ type: "function", name }));
    const chosen = (tool_choice: unknown) => read({ tools, tool_choice });
    for (const choice of ["auto", "none", "required"] as const) {
      expect(chosen(choice).toolChoice).toBe(choice);
    }
    expect(chosen({ type: "function", name: "a" }).toolChoice).toEqual({ name: "a" });
    expect(chosen({ type: "custom", name: "b" }).toolChoice).toEqual({ name: "b" });
    expect(chosen({ type: "function", name: "b", namespace: "x" }).toolChoice).toEqual({ name: "x__b" });
    const only = { type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "b" }] };
    expect(chosen(only)).toMatchObject({ toolChoice: "auto", tools: [{ name: "b" }] });
    expect(chosen({ ...only, mode: "required" }).toolChoice).toEqual({ name: "b" });
    const field = (tool_choice: unknown) => refused({ tools, tool_choice });
    expect(field({ ...only, tools: [{ type: "function", name: "c" }] })).toBe("tool_choice.tools");
    expect(field({ ...only, tools: [] })).toBe("tool_choice.tools");
    expect(field({ ...only, mode: "any" })).toBe("tool_choice.mode");
    expect(field({ type: "web_search" })).toBe("tool_choice.type");
    expect(field("any")).toBe("tool_choice");
  });

  test("one at a time is a wish, which agents have of every model that they do not know", () => {
    expect(read({ parallel_tool_calls: false }).parallelToolCalls).toBe("unwanted");
    expect(read({ parallel_tool_calls: true }).parallelToolCalls).toBeUndefined();
  });
});

describe("the rest of a request", () => {
  test("is how long, how, and in which form to answer", () => {
    const schema = { type: "object", properties: {} };
    expect(
      read({
        max_output_tokens: 5,
        temperature: 0.5,
        top_p: 0.9,
        user: "ann",
        reasoning: { effort: "high", summary: "auto" },
        text: { verbosity: "medium", format: { type: "json_schema", name: "n", schema, strict: true } },
      }),
    ).toMatchObject({
      outputTokensMax: 5,
      temperature: 0.5,
      topP: 0.9,
      endUser: "ann",
      reasoning: { effort: "high" },
      output: { kind: "json_schema", name: "n", schema, strict: true },
    });
    expect(read({ reasoning: { effort: "none" } }).reasoning).toBe("off");
    expect(read({ text: { format: { type: "json_object" } } }).output).toEqual({ kind: "json" });
    expect(read({ text: {}, reasoning: {} })).toMatchObject({ output: undefined, reasoning: undefined });
  });

  test("says how much the model is to say, which gives way where that cannot be told", () => {
    const told = (model: string, verbosity: string) => {
      const asked = responsesDialect.readRequest(
        { input: "Hi", text: { verbosity } },
        { model, stream: false },
      );
      return dialects.openai.writeRequest(asked)["verbosity"];
    };
    for (const model of ["gpt-5", "gpt-5.1-2025-11-13", "openai/gpt-5-mini", "gpt-6.1-sol", "gpt-6-astra"]) {
      expect([told(model, "low"), told(model, "medium"), told(model, "high")]).toEqual([
        "low",
        undefined,
        "high",
      ]);
    }
    for (const model of ["gpt-4o", "gpt-oss-120b", "gpt-5-chat-latest", "gpt-5.1-codex", "glm-5", "o3"]) {
      expect(told(model, "low")).toBeUndefined();
    }
    const asked = read({ input: "Hi", text: { verbosity: "low" } });
    for (const dialect of [dialects.anthropic, dialects.gemini])
      expect(JSON.stringify(dialect.writeRequest({ ...asked, outputTokensMax: 10 }))).not.toContain("low");
  });

  test("may hold what says nothing, or is about OpenAI's own house", () => {
    const harmless = {
      store: true,
      metadata: { a: "b" },
      client_metadata: { a: "b" },
      stream_options: { include_obfuscation: false },
      service_tier: "auto",
      prompt_cache_key: "k",
      include: ["reasoning.encrypted_content"],
      truncation: "disabled",
      top_logprobs: 0,
      background: false,
      previous_response_id: null,
      conversation: null,
      context_management: [],
    };
    expect(refused(harmless)).toBeUndefined();
  });

  test.each([
    ["previous_response_id", { previous_response_id: "resp_1" }],
    ["conversation", { conversation: "conv_1" }],
    ["prompt", { prompt: { id: "pmpt_1" } }],
    ["truncation", { truncation: "auto" }],
    ["top_logprobs", { top_logprobs: 2 }],
    ["include", { include: ["message.output_text.logprobs"] }],
    ["text.verbosity", { text: { verbosity: "chatty" } }],
    ["text.format.type", { text: { format: { type: "grammar" } } }],
    ["reasoning.effort", { reasoning: { effort: "huge" } }],
    ["reasoning.novel", { reasoning: { novel: true } }],
    ["novel", { novel: true }],
    ["input[0]", { input: [{ type: "item_reference", id: "msg_1" }] }],
    ["input[0]", { input: ["hi"] }],
    ["input[0].type", { input: [{ type: "local_shell_call" }] }],
    ["input[0].type", { input: [{ type: "compaction", encrypted_content: "x" }] }],
    ["input[0].role", { input: [{ role: "critic", content: "x" }] }],
    ["input[0].call_id", { input: [{ type: "function_call_output", output: "x" }] }],
    ["input[0].arguments", { input: [{ type: "function_call", call_id: "c", name: "f" }] }],
    ["input[0].content", { input: [{ role: "assistant", content: [image] }] }],
    ["input", { input: 5 }],
    ["instructions", { instructions: [] }],
  ] as const)("is refused by name for what no other vendor can be told: %s", (field, body) => {
    expect(refused(body)).toBe(field);
  });
});
