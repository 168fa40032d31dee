// Streams and what can happen to them, over a real socket, because a gateway meets them there.

import { describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { anyString, at, eventsIn, failureOf, useListeningSandbox } from "./test-sandbox.ts";

const { sandbox, listener, inject } = await useListeningSandbox();
const { book } = sandbox;

const question = "How do I water a cactus?";
const messages = [{ role: "user", content: question }];
const dialects = {
  openai: {
    path: "/openai/chat/completions",
    body: { model: "m", messages, stream: true, stream_options: { include_usage: true } },
  },
  responses: { path: "/openai/responses", body: { model: "m", input: question, stream: true } },
  anthropic: { path: "/anthropic/messages", body: { model: "m", messages, max_tokens: 500, stream: true } },
  gemini: {
    path: "/gemini/models/m:streamGenerateContent?alt=sse",
    body: { contents: [{ parts: [{ text: question }] }] },
  },
  perplexity: { path: "/perplexity/v1/agent", body: { preset: "fast", input: question, stream: true } },
} as const;
type Dialect = keyof typeof dialects;
const names = Object.keys(dialects) as Dialect[];

const ask = (dialect: Dialect, { signal, more = {} }: { signal?: AbortSignal; more?: object } = {}) =>
  fetch(listener.url + dialects[dialect].path, {
    method: "POST",
    keepalive: false,
    headers: {
      authorization: "Bearer sandbox",
      "x-goog-api-key": "sandbox",
      "anthropic-version": "2023-06-01",
    },
    body: JSON.stringify({ ...dialects[dialect].body, ...more }),
    ...(signal === undefined ? {} : { signal }),
  });

/** What arrived until the end, and how it ended. */
async function readAll(response: Response) {
  const decoder = new TextDecoder();
  let text = "";
  const chunks: AsyncIterable<Uint8Array> = response.body ?? new Blob([]).stream();
  const failure = await failureOf(
    (async () => {
      for await (const chunk of chunks) text += decoder.decode(chunk, { stream: true });
    })(),
  );
  return {
    text,
    failure,
    /** Only for whoever asks: a text that was cut may end in the middle of an event. */
    get events() {
      return eventsIn(text);
    },
  };
}

const entry = () => book.read().entries.at(-1);
async function booked() {
  for (let tries = 0; tries < 100 && entry()?.status === null; tries++) await Bun.sleep(5);
  return entry();
}

describe("streams over a socket", () => {
  test.each(names)("%s arrives whole, and is booked as sent", async (dialect) => {
    const { events, failure } = await readAll(await ask(dialect));
    expect(failure).toBeUndefined();
    expect(await booked()).toMatchObject({ status: 200, events_sent: events.length });
  });

  test("events arrive one by one, as they are made", async () => {
    await inject({ chunk_delay_ms: 60 });
    const before = performance.now();
    const response = await ask("openai", { more: { max_tokens: 10 } });
    const reader = response.body?.getReader();
    await reader?.read();
    const firstMs = performance.now() - before;
    let reads = 1;
    while ((await reader?.read())?.done === false) reads += 1;
    expect(reads).toBeGreaterThan(8);
    const wholeMs = performance.now() - before;
    expect(wholeMs).toBeGreaterThan(8 * 60);
    expect(firstMs).toBeLessThan(wholeMs / 2);
  });

  test("a caller who leaves is billed for what was sent, and nothing more is made", async () => {
    await inject({ chunk_delay_ms: 10 });
    const gone = new AbortController();
    const response = await ask("anthropic", { signal: gone.signal });
    const reader = response.body?.getReader();
    for (let i = 0; i < 6; i++) await reader?.read();
    gone.abort();
    const aborted = await booked();
    expect(aborted).toMatchObject({ status: 200, aborted: true });
    expect(aborted?.events_sent).toBeGreaterThanOrEqual(6);
    expect(aborted?.events_sent).toBeLessThan(15);
    expect(aborted?.billed?.["output_tokens"]).toBeGreaterThan(0);
    expect(aborted?.billed?.["output_tokens"]).toBeLessThan(20);
  });

  test("a caller who leaves before the first byte is billed for the prompt", async () => {
    await inject({ latency_ms: 80 });
    expect(await failureOf(ask("openai", { signal: AbortSignal.timeout(20) }))).toBeInstanceOf(Error);
    expect(await booked()).toMatchObject({
      status: 200,
      aborted: true,
      events_sent: 0,
      billed: { input_tokens: 15, output_tokens: 0 },
    });
  });

  test("nothing is made before it is read", async () => {
    const { path, body } = dialects.openai;
    const request = {
      method: "POST",
      headers: { authorization: "Bearer sandbox" },
      body: JSON.stringify(body),
    };
    const response = await sandbox.fetch(new Request(`http://sandbox.test${path}`, request));
    const reader = response.body?.getReader();
    for (let i = 0; i < 3; i++) await reader?.read();
    await Bun.sleep(5);
    expect(entry()).toMatchObject({ status: null, billed: null });
    await reader?.cancel();
    expect(entry()).toMatchObject({ status: 200, aborted: true, events_sent: 3 });
  });

  test("a caller who does not read holds the vendor up", async () => {
    // Some 20 MB, more than sockets buffer.
    const schema = { properties: { list: { type: "array", minItems: 500, items: { type: "string" } } } };
    const long = { type: "json_schema", json_schema: { name: "long", schema } };
    const text = JSON.stringify({ model: "m", messages, stream: true, n: 128, response_format: long });
    const socket = connect(Number(new URL(listener.url).port), "127.0.0.1");
    socket.pause();
    socket.write(
      `POST /openai/chat/completions HTTP/1.1\r\nHost: sandbox\r\nAuthorization: Bearer sandbox\r\nContent-Length: ${text.length}\r\n\r\n${text}`,
    );
    // Unhindered, all of it is sent in well under this time.
    await Bun.sleep(1500);
    expect(entry()).toMatchObject({ status: null });

    socket.destroy();
    const left = await booked();
    expect(left).toMatchObject({ status: 200, aborted: true });
    expect(left?.events_sent).toBeLessThan(40_000);
  });
});

describe("faults of streams", () => {
  test.each(names)(
    "cut_stream ends the connection of %s after n events, and bills up to there",
    async (dialect) => {
      const whole = await readAll(await ask(dialect));
      const full = (await booked())?.billed?.["output_tokens"] ?? 0;
      await inject({ mode: "cut_stream", after_events: 7 });
      const { events, failure } = await readAll(await ask(dialect));
      expect(failure).toBeInstanceOf(Error);
      expect(events).toHaveLength(7);
      expect(whole.events.length).toBeGreaterThan(7);
      const cut = await booked();
      expect(cut).toMatchObject({ status: 200, events_sent: 7 });
      expect(cut?.billed?.["output_tokens"]).toBeGreaterThan(0);
      expect(cut?.billed?.["output_tokens"]).toBeLessThan(full);
      expect(cut).not.toHaveProperty("aborted");
    },
  );

  test("cut_stream can cut before the first event, after the headers", async () => {
    await inject({ mode: "cut_stream", after_events: 0 });
    const response = await ask("gemini");
    expect(response.status).toBe(200);
    expect(await readAll(response)).toMatchObject({ events: [] });
    expect(await booked()).toMatchObject({ events_sent: 0, billed: { input_tokens: 15, output_tokens: 0 } });
  });

  test("stall_stream is silent in the middle and goes on", async () => {
    await inject({ mode: "stall_stream", after_events: 3, latency_ms: 500 });
    const before = performance.now();
    const response = await ask("openai");
    const headersMs = performance.now() - before;
    const { events, failure } = await readAll(response);
    const wholeMs = performance.now() - before;
    expect(wholeMs).toBeGreaterThanOrEqual(495);
    expect(headersMs).toBeLessThan(wholeMs / 2);
    expect([failure, events.at(-1)?.data]).toEqual([undefined, "[DONE]"]);
  });

  test("a caller who leaves during the silence is booked at once", async () => {
    await inject({ mode: "stall_stream", after_events: 3, latency_ms: 60_000 });
    const response = await ask("openai", { signal: AbortSignal.timeout(100) });
    expect((await readAll(response)).events).toHaveLength(3);
    expect(await booked()).toMatchObject({ aborted: true, events_sent: 3 });
  });

  test("error_event speaks the dialect, and ends the stream", async () => {
    const said: Record<Dialect, unknown> = {
      openai: { event: undefined, data: { error: { type: "server_error", message: anyString } } },
      responses: { event: "error", data: { type: "error", code: "server_error" } },
      anthropic: { event: "error", data: { type: "error", error: { type: "overloaded_error" } } },
      gemini: { event: undefined, data: { error: { code: 503, status: "UNAVAILABLE" } } },
      perplexity: { event: undefined, data: { type: "response.failed", error: { code: 500 } } },
    };
    for (const dialect of names) {
      await inject({ mode: "error_event", after_events: 5 });
      const { events, failure } = await readAll(await ask(dialect));
      expect([failure, events.length]).toEqual([undefined, 6]);
      expect(events.at(-1)).toMatchObject(Object(said[dialect]) as object);
      expect(await booked()).toMatchObject({ status: 200, events_sent: 5 });
    }
  });

  test.each(names)("no_usage leaves usage out of %s, and bills it all the same", async (dialect) => {
    await readAll(await ask(dialect));
    const full = (await booked())?.billed;
    await inject({ mode: "no_usage" });
    const { text } = await readAll(await ask(dialect));
    expect(text).not.toMatch(/"usage(Metadata)?":\{/);
    if (dialect === "openai") expect(text).not.toContain('"choices":[]');
    expect((await booked())?.billed).toEqual(full ?? null);
  });

  test("a patch bends the usage of the last events, and nothing else", async () => {
    const patches: readonly [Dialect, object, (last: unknown) => unknown][] = [
      ["openai", { usage: { completion_tokens: 9999 } }, (last) => at(last, "usage", "completion_tokens")],
      [
        "responses",
        { usage: { output_tokens: 9999 } },
        (last) => at(last, "response", "usage", "output_tokens"),
      ],
      ["anthropic", { usage: { output_tokens: 9999 } }, (last) => at(last, "usage", "output_tokens")],
      [
        "gemini",
        { usageMetadata: { candidatesTokenCount: 9999 } },
        (last) => at(last, "usageMetadata", "candidatesTokenCount"),
      ],
    ];
    for (const [dialect, json_patch, read] of patches) {
      const whole = await readAll(await ask(dialect));
      const full = (await booked())?.billed;
      await inject({ json_patch: { ...json_patch, invented: 1 } });
      const { events, text } = await readAll(await ask(dialect));
      expect(events.map(({ data }) => read(data))).toContain(9999);
      expect(text).not.toContain("invented");
      expect(events).toHaveLength(whole.events.length);
      expect((await booked())?.billed).toEqual(full ?? null);
    }
  });

  test("faults that know bodies only take a stream in one piece", async () => {
    const { text: whole } = await readAll(await ask("anthropic"));
    await inject({ mode: "partial" });
    const response = await ask("anthropic");
    expect(response.headers.get("content-type")).toStartWith("text/event-stream");
    const { text, failure } = await readAll(response);
    expect(failure).toBeInstanceOf(Error);
    expect(whole).toStartWith(text);

    await inject({ body: "<p>no stream</p>", content_type: "text/html" });
    expect(await (await ask("gemini")).text()).toBe("<p>no stream</p>");
    await inject({ status: 529 });
    expect(await (await ask("anthropic")).json()).toMatchObject({ error: { type: "overloaded_error" } });
  });

  test("faults of streams do the nearest thing to an answer that is none", async () => {
    const more = { stream: false, stream_options: null };
    await inject({ mode: "no_usage" });
    expect(await (await ask("openai", { more })).json()).not.toHaveProperty("usage");
    await inject({ mode: "cut_stream" });
    expect((await readAll(await ask("openai", { more }))).failure).toBeInstanceOf(Error);
    await inject({ mode: "error_event" });
    expect((await ask("openai", { more })).status).toBe(500);
    expect(await booked()).toMatchObject({ status: 500, billed: null });
    await inject({ mode: "stall_stream", latency_ms: 60 });
    const before = performance.now();
    expect((await ask("openai", { more })).status).toBe(200);
    expect(performance.now() - before).toBeGreaterThanOrEqual(55);
  });

  test("a list that grows can be cut like events", async () => {
    await inject({ mode: "cut_stream", after_events: 2 });
    const response = await fetch(`${listener.url}/gemini/models/m:streamGenerateContent`, {
      method: "POST",
      keepalive: false,
      headers: { "x-goog-api-key": "sandbox" },
      body: JSON.stringify(dialects.gemini.body),
    });
    const { text, failure } = await readAll(response);
    expect(failure).toBeInstanceOf(Error);
    expect(JSON.parse(`${text}]`)).toHaveLength(2);
  });
});
