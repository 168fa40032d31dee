// What the three vendors of models have in common: one script, one reading, one book, and the ways a stream can end.

import { describe, expect, test } from "bun:test";

import { openAnthropicDouble } from "./anthropic.ts";
import type { Asked } from "./asked.ts";
import { createKeeper, dataOf, eventually, post, readStream } from "./exchange.ts";
import { openGeminiDouble } from "./gemini.ts";
import type { ModelDouble } from "./model-book.ts";
import type { ScriptedReply } from "./model-reply.ts";
import { openOpenAiDouble } from "./openai.ts";
import type { StreamScript } from "./scripted-answer.ts";
import type { UsageOption } from "./token-usage.ts";

const keep = createKeeper();

interface Options {
  readonly reply?: string | ScriptedReply;
  readonly usage?: UsageOption;
}

interface Vendor {
  readonly name: string;
  readonly open: (options: Options) => Promise<ModelDouble>;
  readonly path: string;
  readonly headers: Record<string, string>;
  /** A short question, streamed. */
  readonly ask: object;
  /** The long conversation, in this vendor's words. */
  readonly long: object;
}

const schema = { type: "object", properties: { city: { type: "string" } } };
const png = "data:image/png;base64,AAAA";

const vendors: readonly Vendor[] = [
  {
    name: "openai",
    open: (options) => openOpenAiDouble({ key: "k-1", ...options }),
    path: "/chat/completions",
    headers: { Authorization: "Bearer k-1" },
    ask: {
      model: "gpt-x",
      stream: true,
      stream_options: { include_usage: true },
      messages: [{ role: "user", content: "hi" }],
    },
    long: {
      model: "gpt-x",
      messages: [
        { role: "system", content: "Be brief." },
        {
          role: "user",
          content: [
            { type: "text", text: "Look:" },
            { type: "image_url", image_url: { url: png } },
          ],
        },
        {
          role: "assistant",
          content: "I will ask.",
          tool_calls: [
            { id: "c1", type: "function", function: { name: "weather", arguments: '{"city":"Zürich"}' } },
          ],
        },
        { role: "tool", tool_call_id: "c1", content: "sunny" },
        { role: "user", content: "So?" },
      ],
      tools: [{ type: "function", function: { name: "weather", parameters: schema } }],
      tool_choice: { type: "function", function: { name: "weather" } },
      max_completion_tokens: 64,
      temperature: 0.5,
      stop: "END",
      response_format: { type: "json_schema", json_schema: { name: "a", schema } },
    },
  },
  {
    name: "anthropic",
    open: (options) => openAnthropicDouble({ key: "k-1", ...options }),
    path: "/messages",
    headers: { "x-api-key": "k-1", "anthropic-version": "2023-06-01" },
    ask: { model: "claude-x", stream: true, max_tokens: 100, messages: [{ role: "user", content: "hi" }] },
    long: {
      model: "claude-x",
      system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }],
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "Look:" },
            { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
          ],
        },
        { role: "assistant", content: "I will ask." },
        {
          role: "assistant",
          content: [{ type: "tool_use", id: "c1", name: "weather", input: { city: "Zürich" } }],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "c1", content: [{ type: "text", text: "sunny" }] },
            { type: "text", text: "So?" },
          ],
        },
      ],
      tools: [{ name: "weather", input_schema: schema }],
      tool_choice: { type: "tool", name: "weather" },
      max_tokens: 64,
      temperature: 0.5,
      stop_sequences: ["END"],
      output_config: { format: { type: "json_schema", schema } },
    },
  },
  {
    name: "gemini",
    open: (options) => openGeminiDouble({ key: "k-1", ...options }),
    path: "/models/gemini-x:streamGenerateContent?alt=sse",
    headers: { "x-goog-api-key": "k-1" },
    ask: { contents: [{ role: "user", parts: [{ text: "hi" }] }] },
    long: {
      systemInstruction: { parts: [{ text: "Be brief." }] },
      contents: [
        { role: "user", parts: [{ text: "Look:" }, { inlineData: { mimeType: "image/png", data: "AAAA" } }] },
        {
          role: "model",
          parts: [
            { text: "I will ask." },
            { functionCall: { id: "c1", name: "weather", args: { city: "Zürich" } } },
          ],
        },
        {
          role: "user",
          parts: [
            { functionResponse: { id: "c1", name: "weather", response: { output: "sunny" } } },
            { text: "So?" },
          ],
        },
      ],
      tools: [{ functionDeclarations: [{ name: "weather", parametersJsonSchema: schema }] }],
      toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["weather"] } },
      generationConfig: {
        maxOutputTokens: 64,
        temperature: 0.5,
        stopSequences: ["END"],
        responseMimeType: "application/json",
        responseJsonSchema: schema,
      },
    },
  },
];

const send = (double: ModelDouble, { path, headers }: Vendor, body: object): Promise<Response> =>
  post(double.url + path, body, headers);

const none = { images: [], toolCalls: [], toolResults: [] };

describe.each(vendors)("$name", (vendor) => {
  const open = (options: Options = {}): Promise<ModelDouble> => keep(vendor.open(options));

  test("reads a conversation as the others do", async () => {
    const double = await open();
    const answer = await send(double, vendor, vendor.long);
    await answer.text();
    expect(answer.status).toBe(200);
    const { model: _, stream: __, ...asked } = double.asked[0] ?? ({} as Asked);
    expect(asked).toEqual({
      system: "Be brief.",
      turns: [
        { ...none, role: "user", text: "Look:", images: [png] },
        {
          ...none,
          role: "assistant",
          text: "I will ask.",
          toolCalls: [{ id: "c1", name: "weather", arguments: { city: "Zürich" } }],
        },
        {
          ...none,
          role: "user",
          text: "So?",
          toolResults: [{ id: "c1", name: "weather", text: "sunny", isError: false }],
        },
      ],
      tools: ["weather"],
      toolChoice: { name: "weather" },
      maxOutputTokens: 64,
      temperature: 0.5,
      stop: ["END"],
      outputSchema: schema,
      reasoning: null,
    });
  });

  test("bills the tokens it was told to, in the classes it knows", async () => {
    const usage = { input: 10, cacheRead: 20, cacheWrite: 0, cacheWrite1h: 0, output: 50, reasoning: 8 };
    const double = await open({ usage });
    await (await send(double, vendor, vendor.ask)).text();
    expect(double.book[0]?.billed.tokens).toEqual(usage);
  });

  const ten = { text: "a b c d e f g h i j" };
  const played = async (script: StreamScript, options: Options = { reply: ten }) => {
    const double = await open(options);
    double.answerNext({ kind: "stream", ...script });
    const { text, ending } = await readStream(send(double, vendor, vendor.ask));
    return { double, text, ending, entry: double.book[0] };
  };

  test("cut after some events, it bills what it had generated", async () => {
    const whole = await played({});
    expect(whole.entry?.billed.tokens.output).toBe(10);
    const all = whole.entry?.stream?.events ?? 0;
    for (const [fault, ending] of [
      ["reset", "broken"],
      ["close", "broken"],
      ["end", "ended"],
    ] as const) {
      const cut = await played({ fault, afterEvents: 5 });
      expect(cut.ending).toBe(ending);
      expect(cut.entry?.stream).toEqual({ events: 5, left: false, whole: false });
      expect(cut.entry?.billed.tokens.output).toBeGreaterThan(0);
      expect(cut.entry?.billed.tokens.output).toBeLessThan(10);
      expect(whole.text).toStartWith(cut.text);
      expect(cut.text.split("\n\n")).toHaveLength(5 + 1);
    }
    expect((await played({ fault: "close", afterEvents: all })).entry?.stream?.whole).toBe(true);
    expect((await played({ fault: "reset" })).entry).toMatchObject({
      billed: { tokens: { output: 0 } },
      stream: { events: 0 },
    });
  });

  test("a stall is only late", async () => {
    const before = performance.now();
    const stalled = await played({ fault: "stall", afterEvents: 3, stallMs: 120 });
    expect(performance.now() - before).toBeGreaterThan(100);
    expect(stalled.ending).toBe("ended");
    expect(stalled.entry?.stream).toMatchObject({ left: false, whole: true });
  });

  test("a caller who leaves is noticed, and pays up to there", async () => {
    for (const script of [{ everyMs: 20 }, { fault: "stall", afterEvents: 5 }] as const) {
      const double = await open({ reply: ten });
      double.answerNext({ kind: "stream", ...script });
      const until = (text: string): boolean => text.split("\n\n").length > 4;
      expect((await readStream(send(double, vendor, vendor.ask), { until })).ending).toBe("left");
      expect(await eventually(() => double.book[0]?.stream?.left === true)).toBe(true);
      expect(double.book[0]?.stream).toMatchObject({ whole: false });
      expect(double.book[0]?.stream?.events).toBeWithin(4, 9);
      expect(double.book[0]?.billed.tokens.output).toBeLessThan(10);
    }
  });

  test("without its usage the stream is otherwise whole, and billed", async () => {
    const usage = { input: 10, output: 777 };
    const told = await played({}, { reply: ten, usage });
    expect(told.text).toContain("777");
    const silent = await played({ withoutUsage: true }, { reply: ten, usage });
    expect(silent.text).not.toContain("777");
    expect(silent.entry).toMatchObject({ billed: { tokens: { output: 777 } }, stream: { whole: true } });
  });

  test("it can give up in the middle, in its own words", async () => {
    const { text, ending, entry } = await played({ fault: "error", afterEvents: 4 });
    expect(ending).toBe("ended");
    expect(dataOf(text).at(-1)).toHaveProperty("error.message");
    expect(entry?.stream).toEqual({ events: 4, left: false, whole: false });
  });

  test("a line of 2 MiB, to the byte, and then the rest", async () => {
    const { text, entry } = await played({ fault: "long-line", afterEvents: 4 });
    const longest = Math.max(...text.split("\n").map(({ length }) => length));
    expect(longest).toBe(2 * 1024 * 1024);
    expect(dataOf(text).length).toBeGreaterThan(10);
    expect(entry?.stream?.whole).toBe(true);
  });

  test("a line without end, events without end, heartbeats without end: until the caller leaves", async () => {
    const endless = [
      { script: { fault: "long-line", lineBytes: Infinity, afterEvents: 3 }, enough: 1024 * 1024 },
      { script: { fault: "endless", afterEvents: 3 }, enough: 50_000 },
      { script: { fault: "heartbeats", afterEvents: 3, everyMs: 1 }, enough: 1500 },
    ] as const;
    for (const { script, enough } of endless) {
      const double = await open({ reply: ten });
      double.answerNext({ kind: "stream", ...script });
      const read = await readStream(send(double, vendor, vendor.ask), {
        until: ({ length }) => length > enough,
      });
      expect(read.ending).toBe("left");
      expect(await eventually(() => double.book[0]?.stream?.left === true)).toBe(true);
      const { events = 0 } = double.book[0]?.stream ?? {};
      if (script.fault === "endless") expect(events).toBeGreaterThan(50);
      else expect(events).toBe(3);
      if (script.fault === "heartbeats") expect(read.text).toContain(": keep-alive");
      const { output = 0 } = double.book[0]?.billed.tokens ?? {};
      if (script.fault === "endless") expect(output).toBeGreaterThan(events - 4);
    }
  });

  test("however it is cut into writes and lines, it says the same", async () => {
    const options = { reply: { text: "Grüße aus Zürich 🦊 你好", pieces: 6 } };
    const plain = await played({}, options);
    const expected = dataOf(plain.text);
    for (const segments of ["each", "odd", "together"] as const) {
      for (const lineEnd of ["\n", "\r\n", "\r"] as const) {
        const shaped = await played({ segments, lineEnd }, options);
        expect(shaped.text).toBe(plain.text.replaceAll("\n", lineEnd));
        expect(dataOf(shaped.text)).toEqual(expected);
        expect(shaped.entry?.stream).toEqual(plain.entry?.stream ?? null);
      }
    }
  });

  test("slow: a pause between events", async () => {
    const before = performance.now();
    const { entry } = await played({ everyMs: 10 });
    expect(entry?.stream?.whole).toBe(true);
    expect(performance.now() - before).toBeGreaterThan(100);
  });

  test("a script for a stream leaves other answers alone", async () => {
    const double = await open();
    double.answerNext({ kind: "stream", fault: "reset" });
    expect((await send(double, { ...vendor, headers: {} }, vendor.ask)).status).toBeWithin(400, 404);
  });
});
