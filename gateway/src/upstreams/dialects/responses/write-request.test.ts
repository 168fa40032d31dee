import { expect, test } from "bun:test";
import { objectsIn, type JsonObject } from "../../../platform/json.ts";
import type { ChatPart, ChatRequest } from "../chat.ts";
import { bareRequest, refusedField } from "../test-requests.ts";
import { responsesDialect } from "./responses-dialect.ts";
import { markOpenAis } from "./sealed-thoughts.ts";
import { sayable } from "./write-request.ts";

const write = (request: Partial<ChatRequest>): JsonObject =>
  responsesDialect.writeRequest({ ...bareRequest, ...request });
const text = (said: string) => ({ kind: "text", text: said }) as const;
const call = (id: string, signature?: string): ChatPart => ({
  kind: "tool_call",
  id,
  name: "f",
  arguments: "{}",
  ...(signature === undefined ? {} : { signature }),
});
/** What OpenAI thought: an item that it can read under its id alone. */
const item = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "sealed" };

test("a turn is items in its order, and thoughts of other vendors are none of them", () => {
  const { instructions, input } = write({
    system: [text("a"), text("b")],
    messages: [
      {
        role: "user",
        parts: [
          text("Look."),
          { kind: "image", source: { mimeType: "image/png", base64: "AAAA" } },
          { kind: "file", source: { mimeType: "application/pdf", base64: "AAAA" }, name: undefined },
          { kind: "file", source: { url: "https://x.test/a.pdf" }, name: "a.pdf" },
        ],
      },
      {
        role: "assistant",
        parts: [
          { kind: "reasoning", text: "Claude's.", signature: "sig" },
          { kind: "reasoning", text: "", redacted: "Claude's" },
          { kind: "reasoning", text: "", redacted: markOpenAis(item) },
          text("One."),
          text("Two."),
          call("c1", "Gemini's"),
        ],
      },
      { role: "system", parts: [text("Now briefly.")] },
      {
        role: "user",
        parts: [
          {
            kind: "tool_result",
            callId: "c1",
            name: undefined,
            content: [text("See:"), { kind: "image", source: { url: "https://x.test/a.png" } }],
            isError: false,
          },
          text("And?"),
        ],
      },
    ],
  });
  expect(instructions).toBe("a\n\nb");
  expect(input).toEqual([
    {
      role: "user",
      content: [
        { type: "input_text", text: "Look." },
        { type: "input_image", detail: "auto", image_url: "data:image/png;base64,AAAA" },
        { type: "input_file", filename: "document.pdf", file_data: "data:application/pdf;base64,AAAA" },
        { type: "input_file", file_url: "https://x.test/a.pdf" },
      ],
    },
    item,
    { role: "assistant", content: "One.\n\nTwo.", phase: "commentary" },
    { type: "function_call", call_id: "c1", name: "f", arguments: "{}" },
    {
      type: "function_call_output",
      call_id: "c1",
      output: [
        { type: "input_text", text: "See:" },
        { type: "input_image", detail: "auto", image_url: "https://x.test/a.png" },
      ],
    },
    { role: "user", content: "And?" },
    // Nothing may stand between a call and its result.
    { role: "developer", content: "Now briefly." },
  ]);
});

test("what the model said on its way to a call is told from what it said at last", () => {
  const result: ChatPart = { kind: "tool_result", callId: "c1", name: "f", content: [], isError: false };
  const { input } = write({
    messages: [
      { role: "user", parts: [text("Rome?")] },
      { role: "assistant", parts: [text("I look.")] },
      { role: "assistant", parts: [text("Now."), call("c1")] },
      { role: "user", parts: [result] },
      { role: "assistant", parts: [text("Warm.")] },
      { role: "user", parts: [text("And Oslo?")] },
    ],
  });
  expect(input).toMatchObject([
    { role: "user" },
    { content: "I look.", phase: "commentary" },
    { content: "Now.", phase: "commentary" },
    { call_id: "c1" },
    { call_id: "c1" },
    { content: "Warm.", phase: "final_answer" },
    { role: "user", content: "And Oslo?" },
  ]);
  expect(JSON.stringify(input).match(/phase/g)).toHaveLength(3);
});

test("a thought behind which the model did nothing does not come back", () => {
  const thought: ChatPart = { kind: "reasoning", text: "", redacted: markOpenAis(item) };
  const { input } = write({
    messages: [
      { role: "user", parts: [text("Rome?")] },
      { role: "assistant", parts: [thought, thought, text("Warm."), thought] },
      { role: "user", parts: [text("And Oslo?")] },
      { role: "assistant", parts: [thought] },
      { role: "user", parts: [text("Go on.")] },
      { role: "assistant", parts: [thought] },
    ],
  });
  expect(input).toEqual([
    { role: "user", content: "Rome?" },
    item,
    item,
    { role: "assistant", content: "Warm.", phase: "final_answer" },
    { role: "user", content: "And Oslo?" },
    { role: "user", content: "Go on." },
  ]);
});

test("an id that is longer than OpenAI takes is a shorter one, the same in call and result", () => {
  const [longest, longer, other] = ["x".repeat(64), "x".repeat(65), "y".repeat(8192)];
  const idsOf = (id: string): readonly unknown[] => {
    const result: ChatPart = { kind: "tool_result", callId: id, name: "f", content: [], isError: false };
    const messages = [
      { role: "assistant", parts: [call(id)] },
      { role: "user", parts: [result] },
    ] as const;
    return objectsIn(write({ messages })["input"]).map(({ call_id: written }) => written);
  };
  expect(idsOf(longest)).toEqual([longest, longest]);
  const [called, answered] = idsOf(longer);
  expect(called).toMatch(/^call_[0-9a-f]{32}$/);
  expect(answered).toBe(called);
  expect(idsOf(other)).not.toContain(called);
});

test("each call has an id of its own and one result", () => {
  const turn = (answers: readonly string[]) =>
    [
      { role: "assistant", parts: [call("f:0"), call("f:1")] },
      {
        role: "user",
        parts: ["f:0", "f:1"].map((callId, at): ChatPart => ({
          kind: "tool_result",
          callId,
          name: "f",
          content: [text(answers[at] ?? "")],
          isError: false,
        })),
      },
    ] as const;
  const [first, again] = [turn(["a", "b"]), turn(["c", "d"])];
  const itemsOf = (messages: ChatRequest["messages"]) =>
    objectsIn(write({ messages })["input"]).map(({ call_id: id, output }) => [id, output]);
  const items = itemsOf([...first, ...again]);
  expect(items.slice(0, 4)).toEqual([
    ["f:0", undefined],
    ["f:1", undefined],
    ["f:0", "a"],
    ["f:1", "b"],
  ]);
  const [third, fourth] = items.slice(4).map(([id]) => id);
  expect(items.slice(4)).toEqual([
    [third, undefined],
    [fourth, undefined],
    [third, "c"],
    [fourth, "d"],
  ]);
  expect(new Set(["f:0", "f:1", third, fourth]).size).toBe(4);
  // Google's command line tells results twice once it has taken up an old conversation.
  expect(itemsOf([...first, first[1]])).toEqual(items.slice(0, 4));
});

test("what is written is read as what it was", () => {
  const request: Partial<ChatRequest> = {
    model: "gpt-5.5",
    system: [text("Be brief.")],
    messages: [
      { role: "user", parts: [text("Look.")] },
      { role: "assistant", parts: [text("Looking."), call("c1"), call("c2")] },
    ],
    tools: [{ name: "f", description: "F.", parameters: { type: "object", properties: {} }, strict: false }],
    toolChoice: { name: "f" },
    outputTokensMax: 100,
    output: {
      kind: "json_schema",
      name: "n",
      schema: { type: "object", properties: {}, required: [], additionalProperties: false },
      strict: true,
    },
    reasoning: { effort: "high" },
    endUser: "ann",
  };
  const { system, messages, tools, toolChoice, outputTokensMax, output, reasoning, endUser } =
    responsesDialect.readRequest(write(request), { model: "gpt-5.5", stream: false });
  expect<object>({
    model: "gpt-5.5",
    system,
    messages,
    tools,
    toolChoice,
    outputTokensMax,
    output,
    reasoning,
    endUser,
  }).toEqual(request);
});

test("how strictly a schema binds is said also where the caller did not", () => {
  const schema = { type: "object", properties: {} };
  const written = write({
    tools: [{ name: "f", description: undefined, parameters: schema, strict: undefined }],
    output: { kind: "json_schema", name: "n", schema, strict: undefined },
  });
  expect(written).toMatchObject({
    tools: [{ name: "f", strict: false }],
    text: { format: { type: "json_schema", name: "n", schema, strict: false } },
  });
});

test("an assistant's picture cannot be said, and nothing that this dialect has no word for is sayable", () => {
  const picture = { kind: "image", source: { mimeType: "image/png", base64: "AAAA" } } as const;
  expect(refusedField(() => write({ messages: [{ role: "assistant", parts: [picture] }] }))).toBe(
    "messages[0]",
  );
  const isSayable = (more: Partial<ChatRequest>): boolean => sayable({ ...bareRequest, ...more });
  for (const more of [{}, { temperature: 1 }, { topP: 1 }, { outputTokensMax: 16 }]) {
    expect(isSayable(more)).toBe(true);
  }
  for (const more of [
    { temperature: 0 },
    { topP: 0.9 },
    { topK: 5 },
    { outputTokensMax: 15 },
    { stop: ["x"] },
    { seed: 1 },
    { frequencyPenalty: 0 },
    { presencePenalty: 0 },
  ]) {
    expect(isSayable(more)).toBe(false);
  }
});
