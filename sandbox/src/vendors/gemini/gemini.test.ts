import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  anyNumber,
  anyString,
  at,
  containing,
  createTestSandbox,
  eventsIn,
  matching,
} from "../../test-sandbox.ts";

const path = "/gemini/models/any:generateContent";
const streamPath = "/gemini/models/any:streamGenerateContent";
const contents = [{ role: "user", parts: [{ text: "How do I water a cactus?" }] }];
const declared = (name: string) => ({
  name,
  parameters: { type: "OBJECT", properties: { city: { type: "STRING" } }, required: ["city"] },
});
const tools = [{ functionDeclarations: [declared("get_weather"), declared("get_time")] }];
const spoken = [{ role: "user", parts: [{ text: "get_weather and get_time in Rome" }] }];

const lastOf = (list: unknown): unknown => at(list, Number(at(list, "length")) - 1);

describe("gemini generateContent", () => {
  test("answers with a candidate and usage", async () => {
    const { ask, book } = createTestSandbox();
    const { status, json } = await ask("POST", path, { body: { contents } });
    expect(status).toBe(200);
    const output = Number(at(json, "usageMetadata", "candidatesTokenCount"));
    expect(json).toEqual({
      candidates: [
        {
          content: { parts: [{ text: containing("water a cactus") }], role: "model" },
          finishReason: "STOP",
          index: 0,
        },
      ],
      usageMetadata: {
        promptTokenCount: 15,
        candidatesTokenCount: output,
        totalTokenCount: 15 + output,
        promptTokensDetails: [{ modality: "TEXT", tokenCount: 15 }],
      },
      modelVersion: "any",
      responseId: anyString,
    });
    expect(book.read().entries[0]?.billed).toEqual({
      input_tokens: 15,
      cached_tokens: 0,
      output_tokens: output,
    });
  });

  test("takes one object where there is a list", async () => {
    const { ask } = createTestSandbox();
    const [content] = spoken;
    const [tool] = tools;
    const system = { text: "Be brief." };
    const lists = { contents: [content], tools: [tool], systemInstruction: { parts: [system] } };
    const listed = await ask("POST", path, { body: lists });
    const single = await ask("POST", path, {
      body: {
        contents: { role: "user", parts: content?.parts[0] },
        tools: tool,
        systemInstruction: { parts: system },
      },
    });
    expect(single.status).toBe(200);
    for (const member of ["candidates", "usageMetadata"])
      expect(at(single.json, member)).toEqual(at(listed.json, member));
    const declaration = { functionDeclarations: declared("get_weather") };
    const called = await ask("POST", path, { body: { contents: spoken, tools: declaration } });
    expect(at(called.json, "candidates", 0, "content", "parts", 0)).toMatchObject({
      functionCall: { name: "get_weather" },
    });
    expect((await ask("POST", path, { body: { contents: "hello" } })).status).toBe(400);
  });

  test("takes both spellings of every member", async () => {
    const { ask } = createTestSandbox();
    const image = "iVBORw0KGgo=";
    const camel = await ask("POST", path, {
      body: {
        systemInstruction: { parts: [{ text: "Be brief." }] },
        contents: [{ parts: [{ text: "Look" }, { inlineData: { mimeType: "image/png", data: image } }] }],
        generationConfig: { maxOutputTokens: 6, stopSequences: ["never"] },
      },
    });
    const snake = await ask("POST", path, {
      body: {
        system_instruction: { parts: [{ text: "Be brief." }] },
        contents: [{ parts: [{ text: "Look" }, { inline_data: { mime_type: "image/png", data: image } }] }],
        generation_config: { max_output_tokens: 6, stop_sequences: ["never"] },
      },
    });
    expect(at(snake.json, "candidates")).toEqual(at(camel.json, "candidates"));
    expect(at(snake.json, "usageMetadata")).toEqual(at(camel.json, "usageMetadata"));
    expect(camel.json).toMatchObject({
      candidates: [{ finishReason: "MAX_TOKENS" }],
      usageMetadata: {
        candidatesTokenCount: 6,
        promptTokensDetails: [{ modality: "TEXT" }, { modality: "IMAGE", tokenCount: 85 }],
      },
    });
  });

  test("obeys stopSequences and candidateCount", async () => {
    const { json } = await createTestSandbox().ask("POST", path, {
      body: { contents, generationConfig: { stopSequences: [" cactus"], candidateCount: 2 } },
    });
    expect(at(json, "candidates")).toMatchObject([
      { index: 0, content: { parts: [{ text: matching(/water a$/) }] } },
      { index: 1, content: { parts: [{ text: matching(/water a$/) }] } },
    ]);
  });

  test("takes null where a member need not be there", async () => {
    for (const member of ["candidateCount", "maxOutputTokens", "stopSequences", "temperature"]) {
      const { status, json } = await createTestSandbox().ask("POST", path, {
        body: { contents, generationConfig: { [member]: null } },
      });
      expect([member, status, at(json, "candidates", "length")]).toEqual([member, 200, 1]);
    }
  });

  test("calls functions as it is told to", async () => {
    const { ask } = createTestSandbox();
    const named = async (functionCallingConfig: object) => {
      const body = { contents: spoken, tools, toolConfig: { functionCallingConfig } };
      const { json } = await ask("POST", path, { body });
      const parts = at(json, "candidates", 0, "content", "parts") as unknown[];
      return parts.flatMap((part) => at(part, "functionCall", "name") ?? []);
    };
    expect(await named({})).toEqual(["get_weather", "get_time"]);
    expect(await named({ mode: "NONE" })).toEqual([]);
    expect(await named({ mode: "ANY", allowedFunctionNames: ["get_time"] })).toEqual(["get_time"]);
    const { json } = await ask("POST", path, { body: { contents: spoken, tools } });
    expect(at(json, "candidates", 0)).toMatchObject({
      finishReason: "STOP",
      content: { parts: [{ functionCall: { args: { city: anyString } } }, {}] },
    });
  });

  test("thoughts are counted apart, and shown on request", async () => {
    const { ask, book } = createTestSandbox();
    const hidden = await ask("POST", path, {
      body: { contents, generationConfig: { thinkingConfig: { thinkingBudget: 20 } } },
    });
    expect(at(hidden.json, "usageMetadata", "thoughtsTokenCount")).toBe(20);
    const { promptTokenCount, candidatesTokenCount, totalTokenCount } = Object(
      at(hidden.json, "usageMetadata"),
    ) as Record<string, number>;
    expect(totalTokenCount).toBe(Number(promptTokenCount) + Number(candidatesTokenCount) + 20);
    expect(book.read().entries[0]?.billed).toMatchObject({
      output_tokens: Number(candidatesTokenCount) + 20,
      reasoning_tokens: 20,
    });

    const shown = await ask("POST", path, {
      body: { contents, generationConfig: { thinkingConfig: { thinkingBudget: 20, includeThoughts: true } } },
    });
    expect(at(shown.json, "candidates", 0, "content", "parts")).toMatchObject([
      { thought: true, text: anyString },
      { text: anyString },
    ]);
  });

  test("a long beginning seen before is cached, and still part of the prompt", async () => {
    const { ask } = createTestSandbox();
    const body = { contents: [{ parts: [{ text: "lorem ipsum dolor sit amet ".repeat(300) }] }] };
    const first = await ask("POST", path, { body });
    const second = await ask("POST", path, { body });
    expect(at(first.json, "usageMetadata")).not.toHaveProperty("cachedContentTokenCount");
    expect(at(second.json, "usageMetadata")).toMatchObject({
      promptTokenCount: Number(at(first.json, "usageMetadata", "promptTokenCount")),
      cachedContentTokenCount: 1408,
    });
  });

  test("counts tokens and lists models for free", async () => {
    const { ask, book } = createTestSandbox();
    const count = "/gemini/models/any:countTokens";
    expect((await ask("POST", count, { body: { contents } })).json).toMatchObject({ totalTokens: 15 });
    const wrapped = { generateContentRequest: { model: "models/any", contents } };
    expect((await ask("POST", count, { body: wrapped })).json).toMatchObject({ totalTokens: 15 });
    expect((await ask("GET", "/gemini/models")).json).toMatchObject({
      models: [{ name: matching(/^models\//), inputTokenLimit: anyNumber }, {}],
    });
    expect((await ask("GET", "/gemini/models/any")).json).toMatchObject({ name: "models/any" });
    expect(book.read().entries.map(({ billed }) => billed)).toEqual([null, null, null, null]);
  });

  test("usage never exceeds the bytes sent and the tokens allowed", async () => {
    const { ask } = createTestSandbox();
    const text = fc.string({ unit: "grapheme", maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(text, { minLength: 1, maxLength: 5 }),
        fc.integer({ min: 1, max: 60 }),
        async (texts, maxOutputTokens) => {
          const turns = texts.map((each) => ({ parts: [{ text: each }] }));
          const body = JSON.stringify({ contents: turns, tools, generationConfig: { maxOutputTokens } });
          const { json } = await ask("POST", path, { body });
          const usage = at(json, "usageMetadata");
          expect(Number(at(usage, "promptTokenCount"))).toBeLessThanOrEqual(Buffer.byteLength(body));
          expect(Number(at(usage, "candidatesTokenCount") ?? 0)).toBeLessThanOrEqual(maxOutputTokens);
        },
      ),
    );
  });
});

describe("gemini stream", () => {
  test("as events: usage grows, the last one finishes, and there is no [DONE]", async () => {
    const { ask } = createTestSandbox();
    const { text } = await ask("POST", `${streamPath}?alt=sse`, { body: { contents } });
    const events = eventsIn(text).map(({ data }) => data);
    expect(text).not.toContain("[DONE]");
    const counts = events.map((data) => Number(at(data, "usageMetadata", "candidatesTokenCount") ?? 0));
    expect(counts).toEqual(counts.toSorted((a, b) => a - b));
    const finished = events.map((data) => at(data, "candidates", 0, "finishReason"));
    expect(finished.filter((reason) => reason !== undefined)).toEqual(["STOP"]);
    expect(finished.at(-1)).toBe("STOP");
  });

  test("without alt=sse: one JSON list of the same chunks", async () => {
    const { ask } = createTestSandbox();
    const { text } = await ask("POST", `${streamPath}?alt=sse`, { body: { contents } });
    const { json, headers } = await ask("POST", streamPath, { body: { contents } });
    expect(headers.get("content-type")).toStartWith("application/json");
    expect(json).toEqual(eventsIn(text).map(({ data }) => data));
  });

  test("function calls come whole, thoughts before words", async () => {
    const { ask } = createTestSandbox();
    const called = await ask("POST", streamPath, { body: { contents: spoken, tools } });
    expect(called.json).toMatchObject([
      { candidates: [{ content: { parts: [{ functionCall: { name: "get_weather" } }] } }] },
      {
        candidates: [{ content: { parts: [{ functionCall: { name: "get_time" } }] }, finishReason: "STOP" }],
      },
    ]);
    const thinkingConfig = { thinkingBudget: 20, includeThoughts: true };
    const thought = await ask("POST", streamPath, {
      body: { contents, generationConfig: { thinkingConfig } },
    });
    expect(at(thought.json, 0, "candidates", 0, "content", "parts", 0)).toMatchObject({ thought: true });
    expect(at(lastOf(thought.json), "usageMetadata", "thoughtsTokenCount")).toBe(20);
  });
});

describe("gemini errors", () => {
  const call = { role: "model", parts: [{ functionCall: { name: "a", args: {} } }] };

  test.each([
    ["{", "JSON"],
    [{}, "contents is not specified"],
    [{ contents: [{ parts: [] }] }, "contents[0].parts"],
    [{ contents: [{ role: "system", parts: [{ text: "" }] }] }, "valid role"],
    [{ contents: [{ parts: [{}] }] }, "parts[0]"],
    [{ contents: [{ parts: [{ inlineData: { mimeType: "image/png", data: "?" } }] }] }, "parts[0]"],
    [{ contents: [...contents, call, ...contents] }, "function response parts"],
    [{ contents, generationConfig: { maxOutputTokens: 0 } }, "max_output_tokens"],
    [{ contents, generationConfig: { max_tokens: 1 } }, 'Unknown name "maxTokens"'],
    [{ contents, messages: [] }, 'Unknown name "messages"'],
    [{ contents, tools: [{ functionDeclarations: [{}] }] }, "name"],
    [{ contents, toolConfig: { functionCallingConfig: { mode: "ANY" } } }, "function_calling_config"],
  ])("refuses %j about %p", async (body, about) => {
    for (const where of [path, `${streamPath}?alt=sse`]) {
      expect(await createTestSandbox().ask("POST", where, { body })).toMatchObject({
        status: 400,
        json: { error: { code: 400, message: containing(about), status: "INVALID_ARGUMENT" } },
      });
    }
  });

  test("a wrong key is an invalid argument, a missing one a missing permission", async () => {
    const { ask } = createTestSandbox();
    const statusOf = async (where: string, headers: Record<string, string>) => {
      const { status, json } = await ask("POST", where, { headers, body: { contents } });
      return [status, at(json, "error", "status")];
    };
    expect(await statusOf(path, { "x-goog-api-key": "no" })).toEqual([400, "INVALID_ARGUMENT"]);
    expect(await statusOf(path, { authorization: "Bearer sandbox" })).toEqual([403, "PERMISSION_DENIED"]);
    expect(await statusOf(`${path}?key=sandbox`, {})).toEqual([200, undefined]);
    const key = { "x-goog-api-key": "sandbox" };
    expect(await statusOf("/gemini/models/missing-1:generateContent", key)).toEqual([404, "NOT_FOUND"]);
    expect(await statusOf("/gemini/models/any:sing", key)).toEqual([404, "NOT_FOUND"]);
  });
});
