import { expect, test } from "bun:test";
import type { JsonObject } from "../../../platform/json.ts";
import type { ChatMessage, ChatPart } from "../chat.ts";
import { marked } from "../marks.ts";
import { refusedField } from "../test-requests.ts";
import { anthropicDialect } from "./anthropic-dialect.ts";
import { asked, plainRequest } from "./test-chat-samples.ts";

const readAll = (messages: unknown): readonly ChatMessage[] =>
  anthropicDialect.readRequest({ messages }, asked).messages;
const readUser = (...content: JsonObject[]): readonly ChatPart[] =>
  readAll([{ role: "user", content }]).flatMap(({ parts }) => parts);
const writeAll = (...messages: ChatMessage[]): unknown =>
  anthropicDialect.writeRequest({ ...plainRequest, messages })["messages"];

const user = (...parts: ChatPart[]): ChatMessage => ({ role: "user", parts });
const assistant = (...parts: ChatPart[]): ChatMessage => ({ role: "assistant", parts });
const text = (said: string): ChatPart => ({ kind: "text", text: said });
const call = (id: string, args = "{}"): ChatPart => ({ kind: "tool_call", id, name: "f", arguments: args });
const result = (callId: string, said: string): ChatPart => ({
  kind: "tool_result",
  callId,
  name: undefined,
  content: [{ kind: "text", text: said }],
  isError: false,
});

test("instructions within the conversation stand before it, after the system prompt, with what is to be cached", () => {
  const cached = { type: "text", text: "c", cache_control: { type: "ephemeral" } };
  const messages = [
    { role: "user", content: "Hello" },
    { role: "system", content: "b" },
    { role: "assistant", content: "Hi" },
    { role: "system", content: [cached] },
  ];
  const read = anthropicDialect.readRequest({ system: "a", messages }, asked);
  expect(read.system).toEqual([
    { kind: "text", text: "a" },
    { kind: "text", text: "b" },
    { kind: "text", text: "c", cache: "5m" },
  ]);
  expect(read.messages).toEqual([user(text("Hello")), assistant(text("Hi"))]);
  const image = { role: "system", content: [{ type: "image" }] };
  expect(refusedField(() => readAll([image]))).toBe("messages.0.content.0");
});

test("what Claude Code tells Anthropic's books before its instructions is told to nobody else", () => {
  const label = "x-anthropic-billing-header: cc_version=2.1.177.01c; cc_entrypoint=cli; cch=36ee5;";
  const block = (said: string): JsonObject => ({ type: "text", text: said });
  const systemOf = (system: unknown): unknown =>
    anthropicDialect.readRequest({ system, messages: [] }, asked).system;
  const you = [text("You are helpful.")];
  expect(systemOf([block(label), block("You are helpful.")])).toEqual(you);
  expect(systemOf(`${label}\nYou are helpful.`)).toEqual(you);
  expect(systemOf(label)).toEqual([]);
  expect(systemOf([block("You are helpful."), block(label)])).toEqual([...you, text(label)]);
  expect(readUser(block(label))).toEqual([text(label)]);
});

test("images are read and written by their bytes and by their address", () => {
  const blocks = [
    { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
    { type: "image", source: { type: "url", url: "https://example.com/a.png" } },
  ];
  const parts = [
    { kind: "image", source: { mimeType: "image/png", base64: "AAAA" } },
    { kind: "image", source: { url: "https://example.com/a.png" } },
  ] as const;
  expect(readUser(...blocks)).toEqual([...parts]);
  expect(writeAll(user(...parts))).toEqual([{ role: "user", content: blocks }]);
});

test("an image's type is written as Anthropic knows it", () => {
  const typeOf = (mimeType: string): unknown =>
    writeAll(user({ kind: "image", source: { mimeType, base64: "AAAA" } }));
  const written = (media_type: string): unknown => [
    { role: "user", content: [{ type: "image", source: { type: "base64", media_type, data: "AAAA" } }] },
  ];
  expect(typeOf("image/jpg")).toEqual(written("image/jpeg"));
  expect(typeOf("image/PNG")).toEqual(written("image/png"));
  expect(refusedField(() => typeOf("image/tiff"))).toBe("messages");
});

test("thinking goes both ways with its signature, redacted thinking with its data", () => {
  const content = [
    { type: "thinking", thinking: "Hm", signature: "sig" },
    { type: "redacted_thinking", data: "opaque" },
  ];
  const parts = [
    { kind: "reasoning", text: "Hm", signature: "sig" },
    { kind: "reasoning", text: "", redacted: "opaque" },
  ] as const;
  expect(readAll([{ role: "assistant", content }])).toEqual([assistant(...parts)]);
  expect(writeAll(user(text("a")), assistant(...parts))).toMatchObject([{}, { role: "assistant", content }]);
});

test("thinking that Anthropic did not sign is not sent to it", () => {
  expect(readUser({ type: "thinking", thinking: "Hm", signature: "" })).toEqual([
    { kind: "reasoning", text: "Hm" },
  ]);
  expect(writeAll(user(text("a")), assistant({ kind: "reasoning", text: "Hm" }), user(text("b")))).toEqual([
    {
      role: "user",
      content: [
        { type: "text", text: "a" },
        { type: "text", text: "b" },
      ],
    },
  ]);
});

test("a tool's result is read from text, from blocks with images, and from nothing", () => {
  const read = (content: unknown): ChatPart | undefined =>
    readUser({ type: "tool_result", tool_use_id: "t", content, is_error: true })[0];
  const made = { kind: "tool_result", callId: "t", name: undefined, isError: true } as const;
  const image = { type: "image", source: { type: "url", url: "https://example.com/a.png" } };
  expect(read("ok")).toEqual({ ...made, content: [{ kind: "text", text: "ok" }] });
  expect(read(undefined)).toEqual({ ...made, content: [] });
  expect(read([{ type: "text", text: "ok" }, image])).toEqual({
    ...made,
    content: [
      { kind: "text", text: "ok" },
      { kind: "image", source: { url: "https://example.com/a.png" } },
    ],
  });
});

test("a tool's failure is written as one", () => {
  const failed = { kind: "tool_result", callId: "t", name: "f", content: [], isError: true } as const;
  expect(writeAll(user(failed))).toEqual([
    { role: "user", content: [{ type: "tool_result", tool_use_id: "t", is_error: true }] },
  ]);
});

test("neighbours of one role become one message, and the tools' results come first in it", () => {
  expect(
    writeAll(
      user(text("a")),
      assistant(call("1")),
      assistant(call("2")),
      user(text("next")),
      user(result("1", "one")),
      user(result("2", "two")),
    ),
  ).toEqual([
    { role: "user", content: [{ type: "text", text: "a" }] },
    {
      role: "assistant",
      content: [
        { type: "tool_use", id: "1", name: "f", input: {} },
        { type: "tool_use", id: "2", name: "f", input: {} },
      ],
    },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "1", content: "one" },
        { type: "tool_result", tool_use_id: "2", content: "two" },
        { type: "text", text: "next" },
      ],
    },
  ]);
});

test("text without a visible character is left out", () => {
  expect(writeAll(user(text("a"), text("")), assistant(text("\n")), user(text("b")))).toEqual([
    {
      role: "user",
      content: [
        { type: "text", text: "a" },
        { type: "text", text: "b" },
      ],
    },
  ]);
});

test("a conversation that the user does not begin is refused", () => {
  expect(refusedField(() => writeAll(assistant(text("Hi")), user(text("a"))))).toBe("messages");
  expect(refusedField(() => writeAll())).toBe("messages");
  expect(refusedField(() => writeAll(user(text(" "))))).toBe("messages");
});

test("arguments that are no JSON object are not lost", () => {
  const inputOf = (args: string): unknown => writeAll(user(text("a")), assistant(call("1", args)));
  for (const args of ['{"a":', "[1]", "null", "text"]) {
    expect(inputOf(args)).toMatchObject([{}, { content: [{ input: { _raw: args } }] }]);
  }
  expect(inputOf('{"a":1}')).toMatchObject([{}, { content: [{ input: { a: 1 } }] }]);
  expect(inputOf(" ")).toMatchObject([{}, { content: [{ input: {} }] }]);
});

test("a call and its result keep one id, in letters that Anthropic takes", () => {
  const ids = ["functions.f:0", "functions.f:1"].map((id) => {
    const written = JSON.stringify(writeAll(user(text("a")), assistant(call(id)), user(result(id, "ok"))));
    const [called, answered] = written.match(/(?<=id":")[^"]*/g) ?? [];
    expect(called).toMatch(/^[a-zA-Z0-9_-]+$/);
    expect(answered).toBe(called);
    return called;
  });
  expect(ids[0]).not.toBe(ids[1]);
});

test("the signature that another vendor put on a call is read, and not sent to Anthropic", () => {
  const carried = { type: "thinking", thinking: "", signature: marked("gemini", "sig") };
  const called = { type: "tool_use", id: "1", name: "f", input: {} };
  const parts = readAll([{ role: "assistant", content: [carried, called] }]).flatMap(
    (message) => message.parts,
  );
  expect(parts).toEqual([{ kind: "tool_call", id: "1", name: "f", arguments: "{}", signature: "sig" }]);
  expect(JSON.stringify(writeAll(user(text("a")), assistant(...parts)))).not.toContain("sig");
});

test("blocks that only Anthropic knows are refused by their place", () => {
  const place = "messages.0.content.0";
  for (const type of ["search_result", "server_tool_use", "container_upload", "mid_conv_system"]) {
    expect(refusedField(() => readUser({ type }))).toBe(place);
  }
  expect(refusedField(() => readUser({ type: "image", source: { type: "file" } }))).toBe(`${place}.source`);
  expect(refusedField(() => readUser({ type: "text", text: "a", citations: [{}] }))).toBe(
    `${place}.citations`,
  );
  expect(
    refusedField(() =>
      readUser({ type: "tool_result", tool_use_id: "t", content: [{ type: "search_result" }] }),
    ),
  ).toBe(`${place}.content.0`);
  expect(refusedField(() => readAll([{ role: "tool", content: "x" }]))).toBe("messages.0.role");
});

test("members that nobody reads are refused by their place, also in blocks and in what a tool gave", () => {
  const place = "messages.0.content.0";
  const inner = { type: "text", text: "ok", zzz: 1 };
  expect(refusedField(() => readAll([{ role: "user", content: "x", zzz: 1 }]))).toBe("messages.0.zzz");
  expect(refusedField(() => readUser(inner))).toBe(`${place}.zzz`);
  expect(refusedField(() => readUser({ type: "tool_result", tool_use_id: "t", content: [inner] }))).toBe(
    `${place}.content.0.zzz`,
  );
  const source = { type: "url", url: "https://example.com/a.png" };
  expect(refusedField(() => readUser({ type: "image", source, transformations: { crop: {} } }))).toBe(
    `${place}.transformations`,
  );
  expect(refusedField(() => anthropicDialect.readRequest({ system: [inner] }, asked))).toBe("system.0.zzz");
});

test("what clients send back of an answer, and marks for the cache, are no members that nobody reads", () => {
  const cache_control = { type: "ephemeral" };
  expect(
    readUser(
      { type: "text", text: "a", citations: null, cache_control },
      { type: "tool_use", id: "1", name: "f", input: {}, caller: { type: "direct" }, cache_control },
      { type: "tool_result", tool_use_id: "1", content: "ok", toolset_name: "t", cache_control },
      { type: "thinking", thinking: "Hm", signature: "s" },
    ),
  ).toHaveLength(4);
});

test("what Anthropic takes from one side only is refused from the other", () => {
  const image = { kind: "image", source: { url: "https://example.com/a.png" } } as const;
  expect(refusedField(() => writeAll(user(call("1"))))).toBe("messages");
  expect(refusedField(() => writeAll(user(text("a")), assistant(image)))).toBe("messages");
  expect(
    refusedField(() => writeAll(user({ kind: "image", source: { mimeType: "image/tiff", base64: "" } }))),
  ).toBe("messages");
});
