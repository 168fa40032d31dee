import { expect, test } from "bun:test";
import type { JsonObject } from "../../../platform/json.ts";
import type { ChatRequest } from "../chat.ts";
import { marked } from "../marks.ts";
import { fieldRefused, read } from "./test-read.ts";

const partsOf = (...parts: readonly JsonObject[]): JsonObject => ({ contents: [{ role: "user", parts }] });

test("instructions may be a text, a content, a part or a list of parts", () => {
  const said = [{ kind: "text", text: "a" }];
  for (const systemInstruction of ["a", { parts: [{ text: "a" }] }, { text: "a" }, [{ text: "a" }]]) {
    expect(read({ systemInstruction }).system).toEqual(said as ChatRequest["system"]);
  }
  expect(fieldRefused({ systemInstruction: { parts: [{ inlineData: {} }] } })).toBe(
    "systemInstruction.parts[0].inlineData",
  );
});

test("contents may be a text, and a content without a role is the user's", () => {
  expect(read({ contents: "hi" }).messages).toEqual([
    { role: "user", parts: [{ kind: "text", text: "hi" }] },
  ]);
  expect(
    read({ contents: [{ parts: [{ text: "a" }] }, { role: "model", parts: [{ text: "b" }] }] }),
  ).toMatchObject({ messages: [{ role: "user" }, { role: "assistant" }] });
  expect(fieldRefused({ contents: [{ role: "system", parts: [] }] })).toBe("contents[0].role");
  expect(fieldRefused({ contents: undefined })).toBe("contents");
});

test("one object where there is a list is named as it was written", () => {
  expect(fieldRefused({ contents: { parts: { inlineData: { data: "AA==" } } } })).toBe(
    "contents.parts.inlineData.mimeType",
  );
  expect(fieldRefused({ tools: { functionDeclarations: {} } })).toBe("tools.functionDeclarations.name");
  expect(fieldRefused({ contents: [{ parts: "hi" }] })).toBe("contents[0].parts");
});

test("images are read, in either alphabet of base64 or by their address", () => {
  const { messages } = read(
    partsOf(
      { inlineData: { mimeType: "image/jpeg", data: "a-_b" } },
      { file_data: { file_uri: "https://x.example/a.png", mime_type: "image/png" } },
    ),
  );
  expect(messages[0]?.parts).toEqual([
    { kind: "image", source: { mimeType: "image/jpeg", base64: "a+/b" } },
    { kind: "image", source: { url: "https://x.example/a.png" } },
  ]);
});

test("notes beside a part are the caller's own, and how a film is looked at says nothing of anything else", () => {
  const image = { inlineData: { mimeType: "image/png", data: "AA==" } };
  const noted = { partMetadata: { from: "a" }, mediaProcessing: "STATIC" };
  const alsoNoted = { part_metadata: { from: "a" }, media_processing: "AGENTIC" };
  const plain = read(partsOf({ text: "a" }, image)).messages;
  expect(read(partsOf({ text: "a", ...noted }, { ...image, ...alsoNoted })).messages).toEqual(plain);
  const systemInstruction = { parts: [{ text: "a", partMetadata: { from: "a" } }] };
  expect(read({ systemInstruction }).system).toEqual([{ kind: "text", text: "a" }]);
});

test("an image is looked at in full, so that only less than that is refused, by its name", () => {
  const image = { inlineData: { mimeType: "image/png", data: "AA==" } };
  const seen = (mediaResolution: unknown): string => fieldRefused(partsOf({ ...image, mediaResolution }));
  const seenAll = (mediaResolution: unknown): string =>
    fieldRefused({ generationConfig: { mediaResolution } });
  for (const level of ["UNSPECIFIED", "HIGH", "ULTRA_HIGH"]) {
    expect(seen({ level: `MEDIA_RESOLUTION_${level}` })).toBe("nothing");
    expect(seenAll(`MEDIA_RESOLUTION_${level}`)).toBe("nothing");
  }
  for (const level of ["LOW", "MEDIUM"]) {
    expect(seen({ level: `MEDIA_RESOLUTION_${level}` })).toBe("contents[0].parts[0].mediaResolution.level");
    expect(seenAll(`MEDIA_RESOLUTION_${level}`)).toBe("generationConfig.mediaResolution");
  }
  expect(seen({ numTokens: 70 })).toBe("contents[0].parts[0].mediaResolution.numTokens");
});

test("what is no image, or lies where only Google can fetch it, is refused by its name", () => {
  const file = (fileUri: string): string => fieldRefused(partsOf({ fileData: { fileUri } }));
  expect(fieldRefused(partsOf({ inlineData: { mimeType: "audio/wav", data: "" } }))).toBe(
    "contents[0].parts[0].inlineData.mimeType",
  );
  expect(file("gs://bucket/a.png")).toBe("contents[0].parts[0].fileData.fileUri");
  expect(file("https://generativelanguage.googleapis.com/v1beta/files/a")).toContain("fileUri");
  expect(file("https://www.youtube.com/watch?v=1")).toContain("fileUri");
});

test("thoughts keep their signatures, and so do calls", () => {
  const { messages } = read({
    contents: [
      {
        role: "model",
        parts: [
          { text: "hm", thought: true, thoughtSignature: marked("anthropic", "s1") },
          { text: "", thought: true, thoughtSignature: marked("redacted", "sealed") },
          { text: "oh", thought: true, thoughtSignature: "Google's own, which nobody else could use" },
          { functionCall: { id: "1", name: "f", args: { a: 1 } }, thoughtSignature: "s2" },
          { text: "", thoughtSignature: "s3" },
        ],
      },
    ],
  });
  expect(messages[0]?.parts).toEqual([
    { kind: "reasoning", text: "hm", signature: "s1" },
    { kind: "reasoning", text: "", redacted: "sealed" },
    { kind: "reasoning", text: "oh" },
    { kind: "tool_call", id: "1", name: "f", arguments: '{"a":1}', signature: "s2" },
  ]);
});

test("an answer sent back chunk by chunk is one turn, with its pieces whole", () => {
  const chunk = (...parts: readonly JsonObject[]): JsonObject => ({ role: "model", parts });
  const { messages } = read({
    contents: [
      chunk({ text: "h", thought: true }),
      chunk(
        { text: "m", thought: true },
        { text: "", thought: true, thoughtSignature: marked("anthropic", "s") },
      ),
      chunk({ text: "he" }),
      chunk({ text: "llo" }),
      { role: "user", parts: [{ text: "a" }] },
      { role: "user", parts: [{ text: "b" }, { text: "c" }] },
    ],
  });
  expect(messages).toEqual([
    {
      role: "assistant",
      parts: [
        { kind: "reasoning", text: "hm", signature: "s" },
        { kind: "text", text: "hello" },
      ],
    },
    { role: "user", parts: [{ kind: "text", text: "a" }] },
    {
      role: "user",
      parts: [
        { kind: "text", text: "b" },
        { kind: "text", text: "c" },
      ],
    },
  ]);
});

test("results find calls without ids by name and order", () => {
  const { messages } = read({
    contents: [
      { role: "model", parts: [{ functionCall: { name: "f" } }, { functionCall: { name: "g" } }] },
      {
        role: "model",
        parts: [{ functionCall: { name: "f" } }, { functionCall: { name: "f", id: "mine" } }],
      },
      {
        parts: [
          { functionResponse: { name: "g", response: { output: "G" } } },
          { functionResponse: { name: "f", response: { output: "F1" } } },
          { functionResponse: { name: "f", id: "mine", response: { output: "F3" } } },
          { functionResponse: { name: "f", id: "unheard", response: { output: "F2" } } },
        ],
      },
    ],
  });
  const ids = messages.map(({ parts }) =>
    parts.map((part) => ("callId" in part ? part.callId : "id" in part && part.id)),
  );
  expect(ids).toEqual([
    ["call_0", "call_1", "call_2", "mine"],
    ["call_1", "call_0", "mine", "call_2"],
  ]);
});

test.each(["user", "function", "tool"])("results of functions are taken in the role of %s", (role) => {
  const { messages } = read({
    contents: [
      { role: "model", parts: [{ functionCall: { name: "f" } }] },
      { role, parts: [{ functionResponse: { name: "f", response: { output: "F" } } }] },
    ],
  });
  expect(messages[1]).toMatchObject({ role: "user", parts: [{ kind: "tool_result", callId: "call_0" }] });
});

test("a result that answers no call is refused", () => {
  expect(fieldRefused(partsOf({ functionResponse: { name: "f", response: {} } }))).toBe(
    "contents[0].parts[0].functionResponse",
  );
});

test("a result is its output or its error, or else the whole object", () => {
  const result = (response: JsonObject): unknown =>
    read(partsOf({ functionResponse: { id: "1", name: "f", response } })).messages[0]?.parts[0];
  const text = (said: string): object => ({ content: [{ kind: "text", text: said }], isError: false });
  expect(result({ output: "a" })).toMatchObject(text("a"));
  expect(result({ result: [1] })).toMatchObject(text("[1]"));
  expect(result({ error: "a" })).toMatchObject({ ...text("a"), isError: true });
  expect(result({ output: 1, more: 2 })).toMatchObject(text('{"output":1,"more":2}'));
});

test("images in a result are part of it", () => {
  const parts = [{ inlineData: { mimeType: "image/png", data: "AA==" } }];
  const { messages } = read(partsOf({ functionResponse: { id: "1", name: "f", response: {}, parts } }));
  expect(messages[0]?.parts[0]).toMatchObject({ content: [{ kind: "text", text: "{}" }, { kind: "image" }] });
});

test("code that Google ran is refused by its name", () => {
  expect(fieldRefused(partsOf({ executableCode: { code: "1" } }))).toBe(
    "contents[0].parts[0].executableCode",
  );
  expect(fieldRefused(partsOf({ code_execution_result: {} }))).toBe(
    "contents[0].parts[0].code_execution_result",
  );
  expect(fieldRefused(partsOf({}))).toBe("contents[0].parts[0]");
});
