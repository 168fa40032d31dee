// The Gemini double, as its vendor describes it.

import { describe, expect, test } from "bun:test";

import { createKeeper, dataOf, post, refusalOf } from "./exchange.ts";
import { openGeminiDouble } from "./gemini.ts";

const keep = createKeeper();
const auth = { "x-goog-api-key": "k-1" };
const ask = { contents: [{ role: "user", parts: [{ text: "hi" }] }] };
const thoughts = { generationConfig: { thinkingConfig: { includeThoughts: true } } };
const usage = { input: 10, cacheRead: 20, cacheWrite: 3, output: 50, reasoning: 8 };
const stated = {
  promptTokenCount: 33,
  cachedContentTokenCount: 20,
  candidatesTokenCount: 42,
  thoughtsTokenCount: 8,
  totalTokenCount: 83,
};
const reply = {
  reasoning: "let me think",
  text: "It is noon.",
  toolCalls: [{ id: "call_1", name: "time", arguments: '{"zone":"Zürich"}' }],
};
const at = (url: string, method: string): string => `${url}/models/gemini-x:${method}`;

interface Chunk {
  readonly candidates: readonly {
    readonly content: { readonly parts: readonly { readonly text?: string; readonly thought?: boolean }[] };
    readonly finishReason?: string;
  }[];
  readonly usageMetadata: { readonly candidatesTokenCount: number };
}

describe("gemini", () => {
  test("answers content whose prompt includes what was cached, thoughts beside the output", async () => {
    const vendor = await keep(openGeminiDouble({ key: "k-1", reply, usage }));
    expect(vendor.url).toEndWith("/v1beta");
    const answer: unknown = await (
      await post(at(vendor.url, "generateContent"), { ...ask, ...thoughts }, auth)
    ).json();
    expect(answer).toMatchObject({
      candidates: [
        {
          content: {
            role: "model",
            parts: [
              { text: "let me think", thought: true },
              { text: "It is noon." },
              { functionCall: { id: "call_1", name: "time", args: { zone: "Zürich" } } },
            ],
          },
          finishReason: "STOP",
          index: 0,
        },
      ],
      usageMetadata: stated,
      modelVersion: "gemini-x",
    });
    // Gemini knows no writing of caches: what was written is input to it.
    expect(vendor.book[0]?.billed.tokens).toEqual({ ...usage, input: 13, cacheWrite: 0, cacheWrite1h: 0 });
  });

  test.each(["sse", "array"])("streams as %s, usage rising to its last figure", async (form) => {
    const vendor = await keep(openGeminiDouble({ key: "k-1", reply, usage }));
    const url = `${at(vendor.url, "streamGenerateContent")}${form === "sse" ? "?alt=sse" : ""}`;
    const answer = await post(url, { ...ask, ...thoughts }, auth);
    const text = await answer.text();
    expect(answer.headers.get("content-type")).toStartWith(
      form === "sse" ? "text/event-stream" : "application/json",
    );
    expect(text).not.toContain("[DONE]");
    const chunks = (form === "sse" ? dataOf(text) : JSON.parse(text)) as readonly Chunk[];
    const parts = chunks.flatMap(({ candidates }) => candidates.flatMap(({ content }) => content.parts));
    const textOf = (thought: boolean): string =>
      parts
        .filter((part) => (part.thought ?? false) === thought)
        .map((part) => part.text ?? "")
        .join("");
    expect([textOf(true), textOf(false)]).toEqual(["let me think", "It is noon."]);
    expect(chunks.map(({ candidates }) => candidates[0]?.finishReason).filter(Boolean)).toEqual(["STOP"]);
    const counts = chunks.map(({ usageMetadata }) => usageMetadata.candidatesTokenCount);
    expect(counts).toEqual(counts.toSorted((a, b) => a - b));
    expect(chunks.at(-1)?.usageMetadata).toMatchObject(stated);
    expect(vendor.book[0]?.stream).toEqual({ events: chunks.length, left: false, whole: true });
    expect(vendor.asked[0]?.stream).toBe(true);
  });

  test("a blocked prompt is a 200 without candidates", async () => {
    const vendor = await keep(openGeminiDouble({ key: "k-1", reply: { stop: "filtered" } }));
    const answer: unknown = await (await post(at(vendor.url, "generateContent"), ask, auth)).json();
    expect(answer).toMatchObject({ promptFeedback: { blockReason: "PROHIBITED_CONTENT" } });
    expect(answer).not.toHaveProperty("candidates");
    const stream = await post(`${at(vendor.url, "streamGenerateContent")}?alt=sse`, ask, auth);
    expect(dataOf(await stream.text())).toMatchObject([{ promptFeedback: {} }]);
    expect(vendor.book.map(({ billed }) => billed.tokens.output)).toEqual([0, 0]);
  });

  test("counts tokens, free", async () => {
    const vendor = await keep(openGeminiDouble({ key: "k-1", usage }));
    const url = at(vendor.url, "countTokens");
    expect(await (await post(url, ask, auth)).json()).toMatchObject({ totalTokens: 33 });
    const wrapped = { generateContentRequest: { model: "models/gemini-x", ...ask } };
    expect(await (await post(url, wrapped, auth)).json()).toMatchObject({ totalTokens: 33 });
    expect(vendor.book).toEqual([]);
  });

  test("takes both spellings of a name, but not of the caller's own words", async () => {
    const vendor = await keep(openGeminiDouble({ key: "k-1" }));
    const parts = [{ inline_data: { mime_type: "image/png", data: "AAAA" } }];
    const body = {
      contents: [
        { role: "user", parts },
        { role: "model", parts: [{ function_call: { name: "f", args: { inline_data: 1 } } }] },
        { role: "user", parts: [{ function_response: { name: "f", response: { result: "ok" } } }] },
      ],
      generation_config: { max_output_tokens: 5 },
    };
    expect((await post(at(vendor.url, "generateContent"), body, auth)).status).toBe(200);
    expect(vendor.asked[0]).toMatchObject({
      maxOutputTokens: 5,
      turns: [
        { images: ["data:image/png;base64,AAAA"] },
        { toolCalls: [{ id: null, name: "f", arguments: { inline_data: 1 } }] },
        { toolResults: [{ name: "f", text: "ok" }] },
      ],
    });
  });

  test("refuses as Google does, and bills nothing", async () => {
    const vendor = await keep(openGeminiDouble({ key: "k-1" }));
    const url = at(vendor.url, "generateContent");
    const refused = async (
      answer: Promise<Response>,
      code: number,
      status: string,
      words = "",
    ): Promise<void> => {
      const message: unknown = expect.stringContaining(words);
      expect(await refusalOf(answer)).toMatchObject({
        status: code,
        body: { error: { code, status, message } },
      });
    };
    const bad = "INVALID_ARGUMENT";
    await refused(post(url, ask, { "x-goog-api-key": "other" }), 400, bad, "API key not valid");
    await refused(post(url, ask, {}), 403, "PERMISSION_DENIED");
    await refused(post(url, ask, { ...auth, Authorization: "Bearer k-1" }), 401, "UNAUTHENTICATED");
    await refused(post(`${url}?key=other`, ask, {}), 400, bad);
    expect((await post(`${url}?key=k-1`, ask, {})).status).toBe(200);
    await refused(
      post(url, { ...ask, messages: [] }, auth),
      400,
      bad,
      'Unknown name "messages": Cannot find field',
    );
    const strange = { contents: [{ role: "user", parts: [{ text: "a", cache: 1 }] }] };
    await refused(post(url, strange, auth), 400, bad, `Unknown name "cache" at 'contents[0].parts[0]'`);
    await refused(post(url, { contents: [] }, auth), 400, bad, "contents is not specified");
    await refused(
      post(url, { contents: [{ role: "assistant", parts: [{ text: "a" }] }] }, auth),
      400,
      bad,
      "valid role",
    );
    const calling = { role: "model", parts: [{ functionCall: { name: "f", args: {} } }] };
    await refused(
      post(url, { contents: [...ask.contents, calling, ...ask.contents] }, auth),
      400,
      bad,
      "function response parts",
    );
    const schema = { generationConfig: { responseSchema: { type: "OBJECT" } } };
    await refused(post(url, { ...ask, ...schema }, auth), 400, bad, "response_mime_type");
    await refused(
      post(`${vendor.url}/models/gemini-y:generateContent`, ask, auth),
      404,
      "NOT_FOUND",
      "gemini-y",
    );
    await refused(post(at(vendor.url, "predict"), ask, auth), 404, "NOT_FOUND");
    expect(vendor.book).toHaveLength(1);
  });
});
