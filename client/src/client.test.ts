import { afterEach, describe, expect, test } from "bun:test";
import {
  openScriptedGateway,
  type Script,
  type Scripted,
  type ScriptedGateway,
} from "../scripted-gateway.ts";
import { createClient, type Client } from "./client.ts";
import { TollgateError } from "./errors.ts";

let gateway: ScriptedGateway;
afterEach(() => gateway.close());

async function open(script: Script): Promise<Client> {
  gateway = await openScriptedGateway(script);
  const { baseUrl, apiKey, fetch, clock, random, attemptTimeoutMs } = gateway.transport;
  return createClient({ baseUrl: `${baseUrl}/`, apiKey, fetch, clock, random, attemptTimeoutMs });
}

const errorOf = (failing: Promise<unknown>): Promise<unknown> =>
  failing.then(
    () => "answered",
    (error: unknown) => error,
  );

const rerank = { query: "a", documents: ["b"] };
const receipt = (charged: number, status = "settled") => ({
  request_id: "req_1",
  status,
  outcome: "succeeded",
  charged_micros_usd: charged,
});
const events = (text: string): Scripted => ({
  status: 200,
  body: text,
  headers: { "content-type": "text/event-stream" },
});

describe("a call", () => {
  test("brings its answer, its cost and the key it was made under", async () => {
    const headers = { "x-tollgate-cost-micros-usd": "5" };
    const client = await open({ answers: [{ status: 200, body: { results: [] }, headers }] });
    const result = await client.call("rerank.create", rerank, { maxPriceUsd: "0.01" });
    expect(result).toMatchObject({ status: 200, requestId: "req_1", chargedMicrosUsd: 5, attempts: 1 });
    const [seen] = gateway.calls;
    expect(seen?.idempotencyKey).toBe(result.idempotencyKey);
    expect(seen?.headers["authorization"]).toBe("Bearer tgk_test");
    expect(seen?.headers["x-tollgate-max-price-usd"]).toBe("0.01");
    expect(seen?.path).toBe("/v1/rerank");
  });

  test("without arguments is one with none, and with what is no object an error like any other", async () => {
    const client = await open({ answers: [{ status: 200, body: { currency: "USD" } }] });
    // As a program that no compiler checks has it.
    const loose = client as unknown as Record<
      "call" | "quote" | "stream",
      (id: string, args?: unknown) => Promise<unknown>
    >;
    expect(await loose.call("credits.balance")).toMatchObject({ data: { currency: "USD" } });
    for (const args of [null, "query", 1]) {
      for (const ask of [loose.call, loose.quote]) {
        expect(await errorOf(ask("rerank.create", args))).toMatchObject({
          kind: "parameters",
          code: "invalid_argument",
          moneyMoved: "no",
          attempts: 0,
        });
      }
      expect(await errorOf(loose.stream("messages.create", args))).toBeInstanceOf(TollgateError);
    }
    expect(gateway.calls).toHaveLength(1);
  });

  test("that cannot be written down is an error like any other", async () => {
    const client = await open({ answers: [{ status: 200 }] });
    const unsayable = { query: 1n } as unknown as typeof rerank;
    for (const failing of [client.call("rerank.create", unsayable), client.receipt("\ud800")]) {
      expect(await errorOf(failing)).toMatchObject({
        code: "invalid_argument",
        moneyMoved: "no",
        attempts: 0,
      });
    }
    expect(gateway.calls).toEqual([]);
  });

  test("has a key of its own each time", async () => {
    const client = await open({ answers: [{ status: 200 }], receipts: [receipt(1)] });
    for (const _ of [1, 2]) await client.call("rerank.create", rerank);
    expect(new Set(gateway.calls.map((call) => call.idempotencyKey)).size).toBe(2);
  });

  test("whose answer does not say its cost learns it from the books", async () => {
    const client = await open({
      answers: [{ status: 200 }],
      receipts: [receipt(0, "dispatched"), receipt(9)],
    });
    expect((await client.call("rerank.create", rerank)).chargedMicrosUsd).toBe(9);
  });

  test("whose answer says JSON and is none was paid for all the same", async () => {
    const headers = { "x-tollgate-cost-micros-usd": "5" };
    const client = await open({ answers: [{ status: 200, body: "<html>", headers }] });
    expect(await errorOf(client.call("rerank.create", rerank))).toMatchObject({
      kind: "malformed_answer",
      moneyMoved: "yes",
      chargedMicrosUsd: 5,
      body: "<html>",
    });
  });

  test("that would stream is not made", async () => {
    const client = await open({ answers: [{ status: 200 }] });
    const messages = [{ role: "user", content: "a" }];
    const streaming = client.call("chat.completions.create", { model: "m", messages, stream: true });
    const unmade = { kind: "parameters", moneyMoved: "no", attempts: 0 };
    expect(await errorOf(streaming)).toMatchObject({ ...unmade, code: "would_stream" });
    expect(await errorOf(client.stream("rerank.create", rerank))).toMatchObject({
      ...unmade,
      code: "does_not_stream",
    });
    expect(gateway.calls).toEqual([]);
  });

  test("of what never streams is the gateway's to judge, also with a word that asks for a stream", async () => {
    const client = await open({ answers: [{ status: 200, body: { results: [] } }] });
    const asking = { ...rerank, stream: true };
    expect(await client.call("rerank.create", asking)).toMatchObject({ status: 200 });
  });

  test("of an operation that there is not is the client's own error, whatever it is asked for", async () => {
    const client = await open({ answers: [{ status: 200 }] });
    // As from JavaScript, where nothing checks the name.
    const [id, inherited] = ["rerank.made", "toString"] as unknown as readonly [
      "rerank.create",
      "rerank.create",
    ];
    const unmade = { kind: "parameters", code: "unknown_operation", moneyMoved: "no", attempts: 0 };
    for (const asking of [
      client.call(id, rerank),
      client.call(inherited, rerank),
      client.quote(id, rerank),
      client.stream(id, rerank),
      client.pages(id, rerank, { items: () => [], next: () => undefined }).next(),
    ]) {
      const error = await errorOf(asking);
      expect(error).toBeInstanceOf(TollgateError);
      expect(error).toMatchObject(unmade);
    }
    expect(gateway.calls).toEqual([]);
  });

  test("is not even tried at an address that is none", async () => {
    await open({ answers: [] });
    for (const baseUrl of [
      "127.0.0.1:25000",
      "localhost:8787",
      "gate.example",
      "ftp://gate.example",
      "http://",
    ]) {
      expect(() => createClient({ apiKey: "tgk_test", baseUrl })).toThrow(
        expect.objectContaining({ name: "TollgateError", code: "invalid_base_url", moneyMoved: "no" }),
      );
    }
    expect(() => createClient({ apiKey: "" })).toThrow(
      expect.objectContaining({ name: "TollgateError", kind: "credentials", code: "missing_api_key" }),
    );
  });
});

describe("a quote", () => {
  test("asks for the price and takes no key", async () => {
    const client = await open({ answers: [{ status: 200, body: { object: "cost_estimate" } }] });
    await client.quote("rerank.create", rerank);
    expect(gateway.calls[0]).toMatchObject({ idempotencyKey: undefined });
    expect(gateway.calls[0]?.headers["x-tollgate-cost-mode"]).toBe("quote");
  });

  test("that a gateway with other words took for the call says what that cost", async () => {
    const client = await open({ answers: [{ status: 200, body: { results: [] } }], receipts: [receipt(4)] });
    expect(await errorOf(client.quote("rerank.create", rerank))).toMatchObject({
      code: "not_a_quote",
      moneyMoved: "yes",
      chargedMicrosUsd: 4,
    });
  });
});

describe("a stream", () => {
  const chat = { model: "m", messages: [{ role: "user", content: "a" }] };
  const two = "data: 1\n\ndata: 2\n\n";
  const closing = ': tollgate {"request_id":"req_1","cost_micros_usd":12}\n\n';

  test("brings its events, then its cost", async () => {
    const client = await open({ answers: [events(two + closing)] });
    const stream = await client.stream("chat.completions.create", chat);
    const seen: string[] = [];
    for await (const { data } of stream) seen.push(data);
    expect(seen).toEqual(["1", "2"]);
    expect(await stream.end()).toEqual({ costMicrosUsd: 12 });
    expect(JSON.parse(gateway.calls[0]?.body ?? "")).toEqual({ ...chat, stream: true });
    expect(gateway.lookUps).toEqual([]);
  });

  test("without a closing comment, or left early, learns its cost from the books", async () => {
    const receipts = [receipt(0, "dispatched"), receipt(7)];
    const client = await open({ answers: [events(two)], receipts });
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
    await open({ answers: [], receipts: [receipt(7)] });
    const { baseUrl, apiKey, fetch: ask, clock, random } = gateway.transport;
    const answer = (url: string, init: RequestInit): Promise<Response> =>
      url.endsWith("/chat/completions") ? Promise.resolve(new Response(body, { headers })) : ask(url, init);
    const unread = createClient({ baseUrl, apiKey, clock, random, fetch: answer });
    expect(await (await unread.stream("chat.completions.create", chat)).end()).toEqual({ costMicrosUsd: 7 });
    expect(cancelled).toBe(true);
  });

  test("that is cut says what it cost, and is not begun again", async () => {
    const headers = { "content-type": "text/event-stream", "content-length": "1000" };
    const client = await open({ answers: [{ status: 200, body: two, headers }], receipts: [receipt(3)] });
    const stream = await client.stream("chat.completions.create", chat);
    // The double promises a thousand bytes and ends the connection before.
    const cut = (async () => {
      for await (const _event of stream);
    })();
    setTimeout(() => gateway.cutAll(), 50);
    const error = await errorOf(cut);
    expect(error).toMatchObject({ kind: "connection", moneyMoved: "yes", chargedMicrosUsd: 3 });
    expect(await errorOf(stream.end())).toBe(error);
    expect(gateway.calls).toHaveLength(1);
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
      const client = await open({ answers: [events(two + last + closing)] });
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
      expect(gateway.calls).toHaveLength(1);
    });
  }

  test("that ended with an error is no success either for who leaves it at the last event", async () => {
    const error = 'data: {"error":{"message":"It broke off."}}\n\n';
    const answers = [events(`${two}${error}data: [DONE]\n\n${closing}`)];
    const client = await open({ answers, receipts: [receipt(12)] });
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
    const client = await open({ answers: [events(spoken.join("") + closing)] });
    const stream = await client.stream("chat.completions.create", chat);
    for await (const _event of stream);
    expect(await stream.end()).toEqual({ costMicrosUsd: 12 });
  });

  test("that its caller stops may have cost something", async () => {
    const headers = { "content-type": "text/event-stream", "content-length": "1000" };
    const client = await open({ answers: [{ status: 200, body: two, headers }] });
    const leaving = new AbortController();
    const stream = await client.stream("chat.completions.create", chat, { signal: leaving.signal });
    const stopped = (async () => {
      for await (const _event of stream) leaving.abort();
    })();
    expect(await errorOf(stopped)).toMatchObject({ kind: "aborted", moneyMoved: "unknown" });
  });

  test("that is none is told as it came", async () => {
    const headers = { "x-tollgate-cost-micros-usd": "2" };
    const client = await open({ answers: [{ status: 200, body: { whole: true }, headers }] });
    expect(await errorOf(client.stream("chat.completions.create", chat))).toMatchObject({
      code: "not_a_stream",
      moneyMoved: "yes",
      chargedMicrosUsd: 2,
      body: { whole: true },
    });
  });

  test("that is none and broke off is looked up in the books like any answer that was lost", async () => {
    const client = await open({ answers: ["cut"], receipts: [receipt(7)] });
    expect(await errorOf(client.stream("chat.completions.create", chat))).toMatchObject({
      name: "TollgateError",
      kind: "answer_lost",
      moneyMoved: "yes",
      chargedMicrosUsd: 7,
    });
  });

  test("that is none may not take longer than an attempt, and is left when its caller leaves", async () => {
    const half = { status: 200, body: "{", headers: { "content-length": "1000" } };
    const client = await open({ answers: [half], receipts: [receipt(7)] });
    const { baseUrl, apiKey, clock } = gateway.transport;
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
    const client = await open({ answers: [busy, "gone", events(two + closing)] });
    const stream = await client.stream("chat.completions.create", chat);
    expect(stream.attempts).toBe(3);
    expect(new Set(gateway.calls.map((call) => call.idempotencyKey))).toEqual(
      new Set([stream.idempotencyKey]),
    );
  });
});

test("the create of a task is repeated under its key until its name is known", async () => {
  const output = { task_id: "t", task_status: "PENDING" };
  const created = { status: 200, body: { output, request_id: "req_first" } };
  const running = receipt(0, "dispatched");
  const client = await open({ answers: ["gone", created], receipts: [running] });
  const { data, attempts, chargedMicrosUsd, requestId } = await client.call("video.synthesis.create", {
    model: "wan2.6-t2v",
    input: { prompt: "a bridge" },
  });
  expect(data).toMatchObject({ output: { task_id: "t" } });
  expect(attempts).toBe(2);
  expect(chargedMicrosUsd).toBeUndefined();
  expect(requestId).toBe("req_first");
  expect(gateway.lookUps).toHaveLength(1);
  expect(gateway.calls[0]?.headers["x-tollgate-async"]).toBe("enable");
  expect(new Set(gateway.calls.map((call) => call.idempotencyKey)).size).toBe(1);
});

test("a link is begun, a task waited for, and what became of a key is asked", async () => {
  const link = { auth_url: "http://a", state: "s", expires_at: "2026-01-01T00:10:00Z" };
  const task = { output: { task_id: "t", task_status: "SUCCEEDED" } };
  const client = await open({
    answers: [
      { status: 200, body: link },
      { status: 200, body: task },
    ],
    receipts: [receipt(3), undefined],
  });
  expect(await client.startLink({ scopes: ["tweet.read"] })).toEqual(link);
  expect(await client.waitForTask("t")).toMatchObject(task);
  expect(gateway.calls.map(({ method, path, body }) => [method, path, body])).toEqual([
    ["POST", "/apis/v1/social_a/auth_social_a", '{"scopes":["tweet.read"]}'],
    ["GET", "/apis/v1/services/aigc/tasks/t", ""],
  ]);
  expect(await client.outcome("k")).toMatchObject({ charged_micros_usd: 3 });
});

test("pages that are begun at a cursor end where a vendor hands that out again, and it is not paid twice", async () => {
  const headers = { "x-tollgate-cost-micros-usd": "5" };
  const page = (tweet: string, next: string): Scripted => ({
    status: 200,
    body: { tweets: [tweet], next_cursor: next },
    headers,
  });
  const client = await open({ answers: [page("1", "b"), page("2", "a"), page("1", "b")] });
  const read: unknown[] = [];
  for await (const tweet of client.pages(
    "social_a.tweet.quotes",
    { tweetId: "1", cursor: "a" },
    { items: ({ tweets }) => tweets ?? [], next: (answer) => answer.next_cursor },
  ))
    read.push(tweet);
  expect(read).toEqual(["1", "2"]);
  expect(gateway.calls.map(({ path }) => path.slice(-1))).toEqual(["a", "b"]);
});

describe("waiting for a task at a gateway", () => {
  const running = { status: 200, body: { output: { task_id: "t", task_status: "RUNNING" } } };

  test("that never answers ends in time, and nobody knows what the task has cost", async () => {
    const client = await open({ answers: ["never"] });
    const begunMs = performance.now();
    const error = await errorOf(client.waitForTask("t", { timeoutMs: 200 }));
    expect(performance.now() - begunMs).toBeLessThan(2_000);
    expect(error).toMatchObject({
      kind: "timeout",
      code: "task_not_final",
      moneyMoved: "unknown",
      chargedMicrosUsd: undefined,
    });
    expect(gateway.calls).toHaveLength(1);
  });

  test("that stops answering tells what was heard last", async () => {
    const client = await open({ answers: [running, "never"] });
    const error = await errorOf(client.waitForTask("t", { timeoutMs: 1_500, pollEveryMs: 500 }));
    expect(error).toMatchObject({ code: "task_not_final", body: running.body });
    expect(String(error)).toContain("The task is RUNNING");
  });

  test("is stopped by its caller in the middle of a poll", async () => {
    const client = await open({ answers: ["never"] });
    const error = await errorOf(client.waitForTask("t", { signal: AbortSignal.timeout(50) }));
    expect(error).toMatchObject({ kind: "aborted", moneyMoved: "unknown" });
  });

  test("that refuses to tell says nothing about the task's money", async () => {
    const client = await open({ answers: [{ status: 401, body: { error: "no", code: "invalid_api_key" } }] });
    const error = await errorOf(client.waitForTask("t"));
    expect(error).toBeInstanceOf(TollgateError);
    expect(error).toMatchObject({
      kind: "credentials",
      code: "invalid_api_key",
      status: 401,
      requestId: "req_1",
      moneyMoved: "unknown",
      chargedMicrosUsd: undefined,
    });
  });
});

test("a client without a key is not made", async () => {
  gateway = await openScriptedGateway({ answers: [] });
  expect(() => createClient({ apiKey: "" })).toThrow("API key");
  expect(() => createClient({ apiKey: "tgk_…" })).toThrow(
    expect.objectContaining({ kind: "credentials", code: "invalid_api_key", moneyMoved: "no" }),
  );
  const { baseUrl } = gateway.transport;
  await createClient({ baseUrl, apiKey: "tgk_test\n", attemptsMax: 1 })
    .balance()
    .catch(() => {});
  expect(gateway.calls[0]?.headers["authorization"]).toBe("Bearer tgk_test");
});

test("a client that may wait for ever waits, and does not give up what it paid for at once", async () => {
  const headers = { "x-tollgate-cost-micros-usd": "5" };
  gateway = await openScriptedGateway({ answers: [{ status: 200, body: { results: [] }, headers }] });
  const { baseUrl, apiKey } = gateway.transport;
  const client = createClient({
    baseUrl,
    apiKey,
    attemptTimeoutMs: Infinity,
    fetch: async (url, init) => {
      const response = await fetch(url, { ...init, signal: null });
      await Bun.sleep(30);
      init.signal?.throwIfAborted();
      return response;
    },
  });
  expect(await client.call("rerank.create", rerank)).toMatchObject({ chargedMicrosUsd: 5, attempts: 1 });
  expect(gateway.lookUps).toEqual([]);
});

test("a setting that is no number is refused, because no attempt and no wait would ever be the last", async () => {
  gateway = await openScriptedGateway({ answers: [] });
  for (const setting of [
    { attemptsMax: NaN },
    { attemptsMax: 0 },
    { attemptTimeoutMs: -1 },
    { waitMaxMs: NaN },
  ])
    expect(() => createClient({ apiKey: "tgk_test", ...setting })).toThrow(
      expect.objectContaining({ code: "invalid_setting", moneyMoved: "no" }),
    );
});
