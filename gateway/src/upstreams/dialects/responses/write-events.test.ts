import { describe, expect, test } from "bun:test";
import { isJsonObject, objectsIn, type JsonObject } from "../../../platform/json.ts";
import type { ChatAnswer, ChatEvent, ChatPart } from "../chat.ts";
import type { WriteContext } from "../dialect.ts";
import { responsesDialect } from "./responses-dialect.ts";

const context: WriteContext = { id: "x", model: "m", createdSeconds: 7, includeUsage: false };
const asked = (body: JsonObject): WriteContext => ({
  ...context,
  askedAgain: responsesDialect.saidAgain?.(body),
});

function write(events: readonly ChatEvent[], told: WriteContext = context): readonly JsonObject[] {
  const writer = responsesDialect.createEventWriter(told);
  const sent = [...events.flatMap(writer.write), ...writer.end()];
  return sent.map(({ event, data }, number) => {
    const json = JSON.parse(data) as JsonObject;
    expect([json["type"], json["sequence_number"]]).toEqual([event, number]);
    const { sequence_number: _, ...rest } = json;
    return rest;
  });
}

const typesOf = (sent: readonly JsonObject[]): readonly unknown[] => sent.map(({ type }) => type);
const responseIn = (sent: readonly JsonObject[]): JsonObject => {
  const response = sent.at(-1)?.["response"];
  return isJsonObject(response) ? response : {};
};

const start: ChatEvent = { kind: "start", id: "msg_vendor", model: "claude" };
const text = (said: string, index = 0): ChatEvent => ({ kind: "text", index, text: said });
const partEnd = (index = 0): ChatEvent => ({ kind: "part_end", index });
const stop = (reason: "end" | "length" | "filtered" | "refusal" | "tool_calls"): ChatEvent => ({
  kind: "stop",
  reason,
  stopSequence: undefined,
});
const usage = { input: 10, output: 5, cacheRead: 3, cacheWrite: 2, cacheWrite1h: 0, reasoning: 1 };

const part = (said: string) => ({ type: "output_text", text: said, annotations: [], logprobs: [] });
const message = (said: string, status = "completed", at = 0) => ({
  id: `msg_x_${at}`,
  type: "message",
  status,
  role: "assistant",
  content: [part(said)],
});

describe("a text", () => {
  const sent = write([start, text("Hel"), text("lo"), partEnd(), { kind: "usage", usage }, stop("end")]);
  const place = { item_id: "msg_x_0", output_index: 0, content_index: 0 };

  test("is an item that is opened, filled and closed, between the beginning and the end of a response", () => {
    expect(sent.slice(2, -1)).toEqual([
      {
        type: "response.output_item.added",
        output_index: 0,
        item: { ...message("", "in_progress"), content: [] },
      },
      { type: "response.content_part.added", ...place, part: part("") },
      { type: "response.output_text.delta", ...place, delta: "Hel", logprobs: [] },
      { type: "response.output_text.delta", ...place, delta: "lo", logprobs: [] },
      { type: "response.output_text.done", ...place, text: "Hello", logprobs: [] },
      { type: "response.content_part.done", ...place, part: part("Hello") },
      { type: "response.output_item.done", output_index: 0, item: message("Hello") },
    ]);
  });

  test("stands in the response that the stream ends with, beside what was used", () => {
    expect(typesOf(sent.slice(0, 2))).toEqual(["response.created", "response.in_progress"]);
    expect(sent[0]).toMatchObject({ response: { status: "in_progress", output: [], usage: null } });
    expect(sent.at(-1)).toMatchObject({
      type: "response.completed",
      response: {
        id: "resp_x",
        object: "response",
        created_at: 7,
        status: "completed",
        model: "m",
        error: null,
        incomplete_details: null,
        output: [message("Hello")],
        store: false,
        usage: {
          input_tokens: 15,
          input_tokens_details: { cached_tokens: 3, cache_write_tokens: 2 },
          output_tokens: 5,
          output_tokens_details: { reasoning_tokens: 1 },
          total_tokens: 20,
        },
      },
    });
  });

  test("that nobody counted has no figures", () => {
    expect(responseIn(write([start, text("a"), stop("end")]))["usage"]).toBeNull();
  });
});

test("what is kept longer is told apart in the figures", () => {
  const events: ChatEvent[] = [{ kind: "usage", usage: { ...usage, cacheWrite1h: 4 } }, stop("end")];
  expect(responseIn(write(events))["usage"]).toMatchObject({
    input_tokens: 19,
    input_tokens_details: {
      cache_write_tokens: 6,
      cache_write_tokens_details: { ttl_30m_tokens: 2, ttl_12h_tokens: 4 },
    },
  });
});

describe("an answer that is not whole", () => {
  test.each([
    ["length", "max_output_tokens"],
    ["filtered", "content_filter"],
    ["refusal", "content_filter"],
  ] as const)("says why, and which item it was: %s", (reason, told) => {
    for (const ended of [[], [partEnd(1)]]) {
      const sent = write([start, text("a"), partEnd(), text("b", 1), ...ended, stop(reason)]);
      expect(sent.at(-1)).toMatchObject({ type: "response.incomplete" });
      expect(responseIn(sent)).toMatchObject({
        status: "incomplete",
        incomplete_details: { reason: told },
        output: [message("a"), message("b", "incomplete", 1)],
      });
      const done = sent.filter(({ type }) => type === "response.output_item.done");
      expect(done).toMatchObject([{ item: { status: "completed" } }, { item: { status: "incomplete" } }]);
    }
  });

  test("because its vendor gave up says so twice, for clients that throw and for those that read on", () => {
    const error: ChatEvent = { kind: "error", type: "overloaded_error", code: "busy", message: "Busy." };
    const sent = write([start, text("a"), partEnd(), text("b", 1), error, text("c", 1), stop("end")]);
    const told = { code: "busy", message: "Busy.", param: null };
    expect(sent.slice(-2)).toMatchObject([
      { type: "error", ...told, error: { type: "overloaded_error", ...told } },
      {
        type: "response.failed",
        response: { status: "failed", error: { code: "server_error", message: "Busy." } },
      },
    ]);
    expect(JSON.stringify(sent)).not.toContain('"c"');
  });

  test("because it just ended is no whole one", () => {
    const sent = write([start, text("a")]);
    expect(typesOf(sent.slice(-2))).toEqual(["error", "response.failed"]);
    expect(responseIn(sent)).toMatchObject({ output: [], error: { code: "server_error" } });
  });
});

describe("a call", () => {
  const call = (index: number, name: string, signature?: string): ChatEvent => ({
    kind: "tool_call",
    index,
    id: `c${index}`,
    name,
    ...(signature === undefined ? {} : { signature }),
  });
  const args = (index: number, said: string): ChatEvent => ({ kind: "tool_arguments", index, text: said });
  const itemsOf = (events: readonly ChatEvent[], tools: readonly JsonObject[] = []) =>
    responseIn(write([start, ...events, stop("tool_calls")], asked({ tools })))["output"];

  test("comes in pieces, also beside another", () => {
    const sent = write([
      start,
      call(0, "a"),
      call(1, "b"),
      args(0, '{"x"'),
      args(1, "{}"),
      args(0, ":1}"),
      partEnd(0),
      partEnd(1),
      stop("tool_calls"),
    ]);
    const deltas = sent.filter(({ type }) => type === "response.function_call_arguments.delta");
    expect(deltas.map(({ output_index: at, delta }) => [at, delta])).toEqual([
      [0, '{"x"'],
      [1, "{}"],
      [0, ":1}"],
    ]);
    const item = (at: number, name: string, said: string) => ({
      id: `fc_x_${at}`,
      type: "function_call",
      status: "completed",
      call_id: `c${at}`,
      name,
      arguments: said,
    });
    const items = [item(0, "a", '{"x":1}'), item(1, "b", "{}")];
    expect(responseIn(sent)["output"]).toEqual(items);
    expect(sent.find(({ type }) => type === "response.output_item.added")).toMatchObject({
      item: { ...item(0, "a", ""), status: "in_progress" },
    });
    expect(sent.filter(({ type }) => type === "response.function_call_arguments.done")).toMatchObject([
      { item_id: "fc_x_0", name: "a", arguments: '{"x":1}' },
      { item_id: "fc_x_1", name: "b", arguments: "{}" },
    ]);
  });

  test("without arguments has none, which clients can parse", () => {
    expect(itemsOf([call(0, "a"), partEnd()])).toMatchObject([{ arguments: "{}" }]);
  });

  test("of a tool in a namespace has both its names", () => {
    const tools = [{ type: "namespace", name: "mcp__x", tools: [{ type: "function", name: "a" }] }];
    expect(itemsOf([call(0, "mcp__x__a"), args(0, "{}")], tools)).toMatchObject([
      { type: "function_call", name: "a", namespace: "mcp__x", arguments: "{}" },
    ]);
  });

  test("of a tool of free text gives it the text, once that is whole", () => {
    const tools = [{ type: "custom", name: "patch" }];
    const events = [call(0, "patch"), args(0, '{"inp'), args(0, 'ut":"a\\nb"}'), partEnd()];
    const sent = write([start, ...events, stop("tool_calls")], asked({ tools }));
    const item = { id: "ctc_x_0", type: "custom_tool_call", call_id: "c0", name: "patch" };
    expect(sent.slice(2, -1)).toMatchObject([
      { type: "response.output_item.added", item: { ...item, input: "" } },
      { type: "response.custom_tool_call_input.delta", item_id: "ctc_x_0", delta: "a\nb" },
      { type: "response.custom_tool_call_input.done", item_id: "ctc_x_0", input: "a\nb" },
      { type: "response.output_item.done", item: { ...item, status: "completed", input: "a\nb" } },
    ]);
    for (const odd of ["*** Begin", '{"patch":"a"}', '{"input":5}', "5"]) {
      expect(itemsOf([call(0, "patch"), args(0, odd)], tools)).toMatchObject([{ input: odd }]);
    }
  });

  test("that is signed comes behind a thought that holds the signature", () => {
    const output = itemsOf([call(0, "a", "sig"), args(0, "{}")]);
    expect(output).toMatchObject([
      { id: "rs_x_0", type: "reasoning", summary: [] },
      { id: "fc_x_1", type: "function_call" },
    ]);
    const { messages } = responsesDialect.readRequest({ input: output }, { model: "m", stream: false });
    expect(messages[0]?.parts).toMatchObject([{ kind: "tool_call", signature: "sig" }]);
  });
});

describe("a thought", () => {
  const think = (said: string, more: object = {}): ChatEvent => ({
    kind: "reasoning",
    index: 0,
    text: said,
    ...more,
  });
  const events = [
    start,
    think("Fi"),
    think("rst."),
    think("", { signature: "sig" }),
    partEnd(),
    text("a", 1),
  ];
  const summarized = asked({ reasoning: { summary: "auto" } });

  test("is told piece by piece to who asks for a summary", () => {
    const sent = write([...events, stop("end")], summarized);
    const place = { item_id: "rs_x_0", output_index: 0, summary_index: 0 };
    const summary = (said: string) => ({ type: "summary_text", text: said });
    expect(sent.slice(2, 9)).toMatchObject([
      { type: "response.output_item.added", item: { id: "rs_x_0", type: "reasoning", summary: [] } },
      { type: "response.reasoning_summary_part.added", ...place, part: summary("") },
      { type: "response.reasoning_summary_text.delta", ...place, delta: "Fi" },
      { type: "response.reasoning_summary_text.delta", ...place, delta: "rst." },
      { type: "response.reasoning_summary_text.done", ...place, text: "First." },
      { type: "response.reasoning_summary_part.done", ...place, part: summary("First.") },
      { type: "response.output_item.done", item: { id: "rs_x_0", summary: [summary("First.")] } },
    ]);
  });

  test("is only sealed for who does not", () => {
    for (const reasoning of [undefined, { summary: null }, { summary: "none" }, { effort: "high" }]) {
      const sent = write([...events, stop("end")], asked({ reasoning }));
      expect(typesOf(sent.slice(2, 4))).toEqual(["response.output_item.added", "response.output_item.done"]);
      expect(JSON.stringify(sent)).not.toContain("First.");
    }
  });

  test("that says nothing is none", () => {
    expect(responseIn(write([start, think(""), stop("end")]))["output"]).toEqual([]);
  });
});

test("a picture is one of OpenAI's, if its bytes are there", () => {
  const show = (source: Extract<ChatEvent, { kind: "image" }>["source"]): unknown =>
    responseIn(write([start, { kind: "image", index: 0, source }, partEnd(), stop("end")]))["output"];
  expect(show({ mimeType: "image/webp", base64: "AAAA" })).toEqual([
    {
      id: "ig_x_0",
      type: "image_generation_call",
      status: "completed",
      result: "AAAA",
      output_format: "webp",
    },
  ]);
  expect(show({ url: "https://x.test/a.png" })).toEqual([message("![image](https://x.test/a.png)")]);
});

test("a part whose kind changes is two items", () => {
  const sent = write([start, { kind: "reasoning", index: 0, text: "Hm." }, text("a"), stop("end")]);
  expect(responseIn(sent)["output"]).toMatchObject([{ type: "reasoning" }, { type: "message" }]);
});

test("what was asked is said again, and what was not as the vendor's choice", () => {
  const tools = [{ type: "function", name: "a" }];
  const body = { instructions: "Be brief.", input: "long", tools, temperature: 0.5, metadata: { a: "b" } };
  const sent = write([start, stop("end")], asked(body));
  for (const { response } of [sent[0] ?? {}, sent.at(-1) ?? {}]) {
    expect(response).toMatchObject({
      instructions: "Be brief.",
      tools,
      temperature: 0.5,
      metadata: { a: "b" },
      tool_choice: "auto",
      parallel_tool_calls: true,
      top_p: null,
      text: { format: { type: "text" } },
    });
    expect(response).not.toHaveProperty("input");
  }
});

describe("a whole answer", () => {
  const parts: readonly ChatPart[] = [
    { kind: "reasoning", text: "Hm.", signature: "sig" },
    { kind: "reasoning", text: "", redacted: "data" },
    { kind: "reasoning", text: "Unsigned." },
    { kind: "text", text: "Hello." },
    { kind: "tool_call", id: "c1", name: "patch", arguments: '{"input":"a"}' },
    { kind: "tool_call", id: "c2", name: "mcp__x__a", arguments: "{}", signature: "g" },
    { kind: "image", source: { mimeType: "image/png", base64: "AAAA" } },
  ];
  const answer: ChatAnswer = {
    id: undefined,
    model: undefined,
    parts,
    stop: "tool_calls",
    stopSequence: undefined,
    usage,
  };
  const told = asked({
    tools: [
      { type: "custom", name: "patch" },
      { type: "namespace", name: "mcp__x", tools: [{ type: "function", name: "a" }] },
    ],
  });
  const written = responsesDialect.writeAnswer(answer, told);

  test("sent back is what the model said, signatures and all", () => {
    const asSent = JSON.parse(JSON.stringify(written["output"])) as unknown;
    const { messages } = responsesDialect.readRequest({ input: asSent }, { model: "m", stream: false });
    expect(messages).toEqual([{ role: "assistant", parts }]);
  });

  test("has items with an id each", () => {
    const ids = objectsIn(written["output"]).map(({ id }) => id);
    expect(ids.every((id) => typeof id === "string" && id.length <= 64)).toBe(true);
    expect(new Set(ids).size).toBe(ids.length);
  });
});
