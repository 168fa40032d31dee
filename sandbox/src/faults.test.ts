// Every fault over a real socket, because a gateway meets them there.

import { describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { anyString, at, failureOf, useListeningSandbox } from "./test-sandbox.ts";

const { sandbox, listener, control, inject } = await useListeningSandbox();
const { book } = sandbox;

const path = "/financialdatasets/financial-metrics/snapshot?ticker=AAPL";

// Without keep-alive: on a reused connection Bun's fetch sends a GET again, unasked, when it is closed early.
const ask = (where = path, init: RequestInit = {}) =>
  fetch(listener.url + where, {
    ...init,
    keepalive: false,
    headers: { "x-api-key": "sandbox", authorization: "Bearer sandbox" },
  });

/** All bytes of an answer until the vendor closes, as seen without an HTTP client's help. */
const askRaw = (): Promise<string> =>
  new Promise((resolve, reject) => {
    let seen = "";
    const socket = connect(Number(new URL(listener.url).port), "127.0.0.1");
    socket.on("data", (bytes) => (seen += bytes.toString()));
    socket.on("close", () => resolve(seen)).on("error", reject);
    socket.write(`GET ${path} HTTP/1.1\r\nHost: sandbox\r\nX-API-KEY: sandbox\r\n\r\n`);
  });

describe("faults", () => {
  test("are consumed in order, the first that matches wins, and the next call is sound", async () => {
    await inject({ vendor: "jina", status: 500 });
    await inject({ path_contains: "ticker=AAPL", status: 503, times: 2 });
    await inject({ vendor: "financialdatasets", status: 429, headers: { "retry-after": "7" } });
    expect(at(await (await control("GET", "/faults")).json(), "faults", "length")).toBe(3);

    const answers = [await ask(), await ask(), await ask(), await ask()];
    expect(answers.map(({ status }) => status)).toEqual([503, 503, 429, 200]);
    expect(answers[2]?.headers.get("retry-after")).toBe("7");
    expect(await (await control("GET", "/faults")).json()).toEqual({
      faults: [{ vendor: "jina", status: 500, times: 1 }],
    });
    expect(book.read().entries.map(({ billed }) => billed)).toEqual([null, null, null, { calls: 1 }]);
  });

  test("a status speaks in the vendor's shape", async () => {
    await inject({ status: 429, times: 4 });
    expect(await (await ask()).json()).toEqual({ error: "Too Many Requests", message: anyString });
    expect(await (await ask("/openai/models")).json()).toMatchObject({
      error: { type: "rate_limit_error", param: null },
    });
    expect(await (await ask("/tikhub/x")).json()).toMatchObject({ detail: { code: 429 } });
    expect(await (await ask("/cohere/rerank")).json()).toEqual({ message: anyString });
  });

  test("a body is sent as it is, with its content type", async () => {
    await inject({ status: 502, body: "<h1>bad</h1>", content_type: "text/html" });
    const answer = await ask();
    expect([answer.status, answer.headers.get("content-type"), await answer.text()]).toEqual([
      502,
      "text/html",
      "<h1>bad</h1>",
    ]);
  });

  test("a patch bends the true answer, and the book keeps the true bill", async () => {
    await inject({ json_patch: { usage: { total_tokens: 999_999, extra: { a: 1 } }, model: null } });
    const body = JSON.stringify({ model: "m", query: "tea", documents: ["tea"] });
    const json: unknown = await (await ask("/jina/rerank", { method: "POST", body })).json();
    expect(json).toMatchObject({
      usage: { total_tokens: 999_999, extra: { a: 1 } },
      results: [{ index: 0 }],
    });
    expect(json).not.toHaveProperty("model");
    expect(book.read().entries[0]?.billed).toEqual({ tokens: 2 });
  });

  test("latency delays the answer, and a caller who leaves is billed all the same", async () => {
    await inject({ latency_ms: 150, times: 2 });
    const before = performance.now();
    expect((await ask()).status).toBe(200);
    expect(performance.now() - before).toBeGreaterThanOrEqual(145);

    expect(await failureOf(ask(path, { signal: AbortSignal.timeout(30) }))).toBeInstanceOf(Error);
    expect(book.read().entries[1]).toMatchObject({ status: null, billed: null });
    while (book.read().entries[1]?.status === null) await Bun.sleep(5);
    expect(book.read().entries[1]).toMatchObject({ status: 200, billed: { calls: 1 } });
  });

  test("close ends the connection without a byte, and the call is in the book", async () => {
    await inject({ mode: "close", times: 2 });
    expect(await askRaw()).toBe("");
    expect(await failureOf(ask())).toBeInstanceOf(Error);
    expect(book.read().entries).toMatchObject([
      { status: null, billed: null },
      { status: null, billed: null },
    ]);
  });

  test("hang never answers", async () => {
    await inject({ mode: "hang" });
    expect(await failureOf(ask(path, { signal: AbortSignal.timeout(200) }))).toHaveProperty(
      "name",
      "TimeoutError",
    );
    expect(book.read().entries).toMatchObject([{ status: null, billed: null }]);
    expect((await ask()).status).toBe(200);
  });

  test("partial promises a length, sends half and closes", async () => {
    const whole = await (await ask()).text();
    await inject({ mode: "partial", times: 2 });
    const [head = "", body] = (await askRaw()).split("\r\n\r\n");
    expect(head.toLowerCase()).toContain(`content-length: ${whole.length}`);
    expect(body).toBe(whole.slice(0, Math.floor(whole.length / 2)));
    expect(await failureOf(ask().then((answer) => answer.text()))).toBeInstanceOf(Error);
  });

  test("endless stops when the caller stops reading, and ends when the caller leaves", async () => {
    await inject({ mode: "endless" });
    const gone = new AbortController();
    const answer = await ask(path, { signal: gone.signal });
    const reader = answer.body?.getReader();
    let read = 0;
    while (read < 1_000_000) {
      const next = await reader?.read();
      if (next?.value instanceof Uint8Array) read += next.value.length;
    }

    Bun.gc(true);
    const before = process.memoryUsage().rss;
    await Bun.sleep(500);
    expect(process.memoryUsage().rss - before).toBeLessThan(50_000_000);

    gone.abort();
    await Bun.sleep(50);
    const cpu = process.cpuUsage();
    await Bun.sleep(300);
    const { user, system } = process.cpuUsage(cpu);
    expect((user + system) / 1000).toBeLessThan(150);
  });

  test("slow_body sends headers at once and its chunks with a pause between", async () => {
    await inject({ mode: "slow_body", latency_ms: 80 });
    const before = performance.now();
    const answer = await ask();
    const headersMs = performance.now() - before;
    expect(await answer.json()).toHaveProperty("snapshot");
    const wholeMs = performance.now() - before;
    expect(wholeMs).toBeGreaterThanOrEqual(8 * 80 - 10);
    expect(headersMs).toBeLessThan(wholeMs / 2);
  });

  test("a fault that cannot be understood is refused", async () => {
    for (const fault of [
      [],
      { moed: "close" },
      { mode: "explode" },
      { status: 99 },
      { times: 0 },
      { headers: { a: 1 } },
    ]) {
      const answer = await control("POST", "/faults", fault);
      expect([answer.status, await answer.json()]).toEqual([400, { error: anyString }]);
    }
  });
});
