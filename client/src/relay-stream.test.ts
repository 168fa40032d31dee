import { describe, expect, test } from "bun:test";
import { errorOf, receipt, type Scripted } from "../scripted-gateway.ts";
import { useScriptedGateway } from "../use-scripted-gateway.ts";
import { createClient } from "./client.ts";

const scripted = useScriptedGateway();
const { openClient } = scripted;

const events = (text: string): Scripted => ({
  status: 200,
  body: text,
  headers: { "content-type": "text/event-stream" },
});

describe("a stream", () => {
  const chat = { model: "m", messages: [{ role: "user", content: "a" }] };
  const two = "data: 1\n\ndata: 2\n\n";
  const closing = ': tollgate {"request_id":"req_1","cost_micros_usd":12}\n\n';

  test("brings its events, then its cost", async () => {
    const client = await openClient({ answers: [events(two + closing)] });
    const stream = await client.stream("chat.completions.create", chat);
    const seen: string[] = [];
    for await (const { data } of stream) seen.push(data);
    expect(seen).toEqual(["1", "2"]);
    expect(await stream.end()).toEqual({ costMicrosUsd: 12 });
    expect(JSON.parse(scripted.gateway.calls[0]?.body ?? "")).toEqual({ ...chat, stream: true });
    expect(scripted.gateway.lookUps).toEqual([]);
  });

  test("without a closing comment, or left early, learns its cost from the books", async () => {
    const receipts = [receipt("dispatched", 0), receipt("settled", 7)];
    const client = await openClient({ answers: [events(two)], receipts });
    const whole = await client.stream("chat.completions.create", chat);
    for await (const _event of whole);
    expect(await whole.end()).toEqual({ costMicrosUsd: 7 });
    const left = await client.stream("chat.completions.create", chat);
    for await (const _event of left) break;
    expect(await left.end()).toEqual({ costMicrosUsd: 7 });
  });

  test("that nobody reads is let go when its end is asked for", async () => {
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({
      cancel: () => {
        cancelled = true;
      },
    });
    const headers = { "content-type": "text/event-stream", "x-request-id": "req_1" };
    await openClient({ answers: [], receipts: [receipt("settled", 7)] });
    const { baseUrl, apiKey, fetch: ask, clock, random } = scripted.gateway.transport;
    const answer = (url: string, init: RequestInit): Promise<Response> =>
      url.endsWith("/chat/completions") ? Promise.resolve(new Response(body, { headers })) : ask(url, init);
    const unread = createClient({ baseUrl, apiKey, clock, random, fetch: answer });
    expect(await (await unread.stream("chat.completions.create", chat)).end()).toEqual({ costMicrosUsd: 7 });
    expect(cancelled).toBe(true);
  });

  test("that is cut says what it cost, and is not begun again", async () => {
    const headers = { "content-type": "text/event-stream", "content-length": "1000" };
    const client = await openClient({
      answers: [{ status: 200, body: two, headers }],
      receipts: [receipt("settled", 3)],
    });
    const stream = await client.stream("chat.completions.create", chat);
    // The double promises a thousand bytes and ends the connection before.
    const cut = (async () => {
      for await (const _event of stream);
    })();
    setTimeout(() => scripted.gateway.cutAll(), 50);
    const error = await errorOf(cut);
    expect(error).toMatchObject({ kind: "connection", moneyMoved: "yes", chargedMicrosUsd: 3 });
    expect(await errorOf(stream.end())).toBe(error);
    expect(scripted.gateway.calls).toHaveLength(1);
  });

  const broken: Readonly<Record<string, readonly [string, string]>> = {
    "an error of OpenAI's": ['data: {"error":{"message":"It broke off.","code":"cut"}}\n\n', "cut"],
    "an error of Anthropic's": [
      'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"It broke off."}}\n\n',
      "unavailable",
    ],
    "an error of Gemini's": ['data: {"error":{"code":502,"message":"It broke off."}}\n\n', "unavailable"],
    "an error of a response": ['data: {"type":"error","code":"cut","message":"It broke off."}\n\n', "cut"],
    "a failed response": [
      'data: {"type":"response.failed","response":{"error":{"code":"cut","message":"It broke off."}}}\n\n',
      "cut",
    ],
    "an error in words alone": ['data: {"error":"It broke off."}\n\n', "unavailable"],
  };
  for (const [name, [last, code]] of Object.entries(broken)) {
    test(`that ends with ${name} hands that on, then fails and says what the part has cost`, async () => {
      const client = await openClient({ answers: [events(two + last + closing)] });
      const stream = await client.stream("chat.completions.create", chat);
      const seen: string[] = [];
      const reading = (async () => {
        for await (const { data } of stream) seen.push(data);
      })();
      const error = await errorOf(reading);
      expect(seen).toHaveLength(3);
      expect(error).toMatchObject({
        kind: "unavailable",
        code,
        message: "It broke off.",
        moneyMoved: "yes",
        chargedMicrosUsd: 12,
        requestId: "req_1",
      });
      expect(await errorOf(stream.end())).toBe(error);
      expect(scripted.gateway.calls).toHaveLength(1);
    });
  }

  test("that ended with an error is no success either for who leaves it at the last event", async () => {
    const error = 'data: {"error":{"message":"It broke off."}}\n\n';
    const answers = [events(`${two}${error}data: [DONE]\n\n${closing}`)];
    const client = await openClient({ answers, receipts: [receipt("settled", 12)] });
    const stream = await client.stream("chat.completions.create", chat);
    for await (const { data } of stream) if (data === "[DONE]") break;
    expect(await errorOf(stream.end())).toMatchObject({ message: "It broke off.", chargedMicrosUsd: 12 });
  });

  test("whose events only speak of errors has not failed", async () => {
    const spoken = [
      'data: {"error":null,"choices":[{"delta":{"content":"\\"error\\""}}]}\n\n',
      'data: {"error":{},"type":"response.created","response":{"error":null}}\n\n',
      'data: {"error":"","choices":[{"type":"error"}]}\n\n',
      'data: "error"\n\n',
    ];
    const client = await openClient({ answers: [events(spoken.join("") + closing)] });
    const stream = await client.stream("chat.completions.create", chat);
    for await (const _event of stream);
    expect(await stream.end()).toEqual({ costMicrosUsd: 12 });
  });

  test("that its caller stops may have cost something", async () => {
    const headers = { "content-type": "text/event-stream", "content-length": "1000" };
    const client = await openClient({ answers: [{ status: 200, body: two, headers }] });
    const leaving = new AbortController();
    const stream = await client.stream("chat.completions.create", chat, { signal: leaving.signal });
    const stopped = (async () => {
      for await (const _event of stream) leaving.abort();
    })();
    expect(await errorOf(stopped)).toMatchObject({ kind: "aborted", moneyMoved: "unknown" });
  });

  test("that is none is told as it came", async () => {
    const headers = { "x-tollgate-cost-micros-usd": "2" };
    const client = await openClient({ answers: [{ status: 200, body: { whole: true }, headers }] });
    expect(await errorOf(client.stream("chat.completions.create", chat))).toMatchObject({
      code: "not_a_stream",
      moneyMoved: "yes",
      chargedMicrosUsd: 2,
      body: { whole: true },
    });
  });

  test("that is none and broke off is looked up in the books like any answer that was lost", async () => {
    const client = await openClient({ answers: ["cut"], receipts: [receipt("settled", 7)] });
    expect(await errorOf(client.stream("chat.completions.create", chat))).toMatchObject({
      name: "TollgateError",
      kind: "answer_lost",
      moneyMoved: "yes",
      chargedMicrosUsd: 7,
    });
  });

  test("that is none may not take longer than an attempt, and is left when its caller leaves", async () => {
    const half = { status: 200, body: "{", headers: { "content-length": "1000" } };
    const client = await openClient({ answers: [half], receipts: [receipt("settled", 7)] });
    const { baseUrl, apiKey, clock } = scripted.gateway.transport;
    const hasty = createClient({ baseUrl, apiKey, clock, attemptTimeoutMs: 100 });
    expect(await errorOf(hasty.stream("chat.completions.create", chat))).toMatchObject({
      kind: "answer_lost",
      chargedMicrosUsd: 7,
    });
    const signal = AbortSignal.timeout(100);
    expect(await errorOf(client.stream("chat.completions.create", chat, { signal }))).toMatchObject({
      kind: "aborted",
      moneyMoved: "unknown",
    });
  });

  test("is begun under one key however often it is sent", async () => {
    const busy = { status: 429, headers: { "retry-after": "1" } };
    const client = await openClient({ answers: [busy, "gone", events(two + closing)] });
    const stream = await client.stream("chat.completions.create", chat);
    expect(stream.attempts).toBe(3);
    expect(new Set(scripted.gateway.calls.map((call) => call.idempotencyKey))).toEqual(
      new Set([stream.idempotencyKey]),
    );
  });
});
