// The doubles are the measure the gateway is held to, so they are measured first.

import { describe, expect, test } from "bun:test";
import { gunzipSync } from "node:zlib";

import { openCohereDouble } from "./cohere.ts";
import { createKeeper, get, post } from "./exchange.ts";
import { openFinancialDatasetsDouble } from "./financialdatasets.ts";
import { gzipZeros } from "./gzip-bomb.ts";
import { openJinaDouble } from "./jina.ts";
import { sendRaw } from "./raw-http.ts";
import { oddHeaderLines } from "./scripted-answer.ts";
import { openTikHubDouble } from "./tikhub.ts";
import { openAttackerListener, openVendorDouble } from "./vendor-double.ts";
import type { VendorDouble } from "./vendor-double.ts";
import { openVoyageDouble } from "./voyage.ts";

const keep = createKeeper();

const outcomeOf = (attempt: Promise<unknown>): Promise<"done" | "failed"> =>
  attempt.then(
    () => "done",
    () => "failed",
  );

const BODY = '{"hello":"world"}';
const GET = "GET /a HTTP/1.1\r\nHost: v\r\n\r\n";
const openEcho = (counts: { worked: number } = { worked: 0 }): Promise<VendorDouble> =>
  keep(
    openVendorDouble({
      handlers: {
        "GET /a": () => {
          counts.worked += 1;
          return { status: 200, headers: { "Content-Type": "application/json" }, body: BODY };
        },
        "POST /a": ({ body }) => ({ status: 201, body }),
      },
    }),
  );

describe("recording", () => {
  test("a request is recorded as it arrived, duplicates, order and case included", async () => {
    const vendor = await openEcho();
    const raw =
      "POST /a?b=%7e&b=2 HTTP/1.1\r\nhost: v\r\nX-Two: 1\r\nx-two: 2\r\nContent-Length: 3\r\n\r\n\0\xffz";
    const { responses } = await sendRaw(vendor.port, raw, { expectResponses: 1 });

    expect(responses[0]?.status).toBe(201);
    const [request] = vendor.requests;
    expect(request?.method).toBe("POST");
    expect(request?.target).toBe("/a?b=%7e&b=2");
    expect(request?.headers).toEqual([
      ["host", "v"],
      ["X-Two", "1"],
      ["x-two", "2"],
      ["Content-Length", "3"],
    ]);
    expect(request?.body).toEqual(Uint8Array.of(0, 255, 122));
    expect(Buffer.from(request?.raw ?? []).toString("latin1")).toBe(raw);
  });

  test("a chunked request is recorded without its framing", async () => {
    const vendor = await openEcho();
    const raw =
      "POST /a HTTP/1.1\r\nHost: v\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=1\r\nde\r\n0\r\nT: 1\r\n\r\n";
    const { responses } = await sendRaw(vendor.port, raw, { expectResponses: 1 });
    expect(responses[0]?.body).toBe("abcde");
  });

  test("a large body arrives whole and in reasonable time", async () => {
    const vendor = await openEcho();
    const body = new Uint8Array(32 * 1024 * 1024).fill(97);
    const answer = await fetch(`${vendor.url}/a`, { method: "POST", body });
    expect((await answer.bytes()).length).toBe(body.length);
    expect(vendor.requests[0]?.body.length).toBe(body.length);
  });

  test("connections are kept alive, pipelined requests answered in order", async () => {
    const vendor = await openEcho();
    for (let call = 0; call < 3; call += 1) await (await fetch(`${vendor.url}/a`)).text();
    expect(vendor.requests.map(({ connection }) => connection)).toEqual([0, 0, 0]);

    const post = "POST /a HTTP/1.1\r\nHost: v\r\nContent-Length: 2\r\n\r\nhi";
    const { responses } = await sendRaw(vendor.port, GET + post + GET, { expectResponses: 3 });
    expect(responses.map(({ body }) => body)).toEqual([BODY, "hi", BODY]);
    expect(vendor.connections().opened).toBe(2);
  });

  test("a request that asks to close is answered and the connection closed", async () => {
    const vendor = await openEcho();
    const raw = "GET /a HTTP/1.1\r\nHost: v\r\nConnection: close\r\n\r\n";
    const { responses, closed, reset } = await sendRaw(vendor.port, raw);
    expect({ count: responses.length, closed, reset }).toEqual({ count: 1, closed: true, reset: false });
  });

  test.each([
    ["two Hosts", "GET /a HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"],
    [
      "length and chunked",
      "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
    ["two lengths", "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na"],
    ["a folded header", "GET /a HTTP/1.1\r\nHost: a\r\nX: 1\r\n 2\r\n\r\n"],
    ["a bare LF", "GET /a HTTP/1.1\r\nHost: a\r\nX: 1\nY: 2\r\n\r\n"],
    ["no HTTP at all", "hello\r\n\r\n"],
  ])("a vendor's edge refuses %s and says so", async (_, raw) => {
    const vendor = await openEcho();
    const { responses, closed } = await sendRaw(vendor.port, raw);
    expect(responses[0]?.status).toBe(400);
    expect(closed).toBe(true);
    expect(vendor.requests).toHaveLength(0);
    expect(vendor.violations).toHaveLength(1);
  });

  test("a handler that throws is a violation, not silence", async () => {
    const fail = (): never => {
      throw new Error("bug");
    };
    const vendor = await keep(openVendorDouble({ handlers: { "*": fail } }));
    expect((await sendRaw(vendor.port, GET)).closed).toBe(true);
    expect(vendor.violations).toEqual(["handler threw: Error: bug"]);
  });
});

describe("misbehaviour", () => {
  test("scripted answers are used up in order, then the handler answers again", async () => {
    const vendor = await openEcho();
    vendor.answerNext({ status: 503, headers: { "Retry-After": "7" }, body: "busy" });
    vendor.answerNext({ kind: "handler" });
    vendor.answerNext({
      status: 429,
      headers: [
        ["A", "1"],
        ["A", "2"],
      ],
    });
    const { responses } = await sendRaw(vendor.port, GET.repeat(4), { expectResponses: 4 });
    expect(responses.map(({ status }) => status)).toEqual([503, 200, 429, 200]);
    expect(responses[0]?.headers).toEqual([
      ["Retry-After", "7"],
      ["Content-Length", "4"],
    ]);
    expect(responses[2]?.headers).toEqual([
      ["A", "1"],
      ["A", "2"],
      ["Content-Length", "0"],
    ]);
  });

  test("close: FIN without a byte, before or after the work", async () => {
    const counts = { worked: 0 };
    const vendor = await openEcho(counts);
    vendor.answerNext({ kind: "close" });
    expect(await sendRaw(vendor.port, GET)).toEqual({ text: "", closed: true, reset: false, responses: [] });
    expect(counts.worked).toBe(0);
    vendor.answerNext({ kind: "close", afterWork: true });
    expect((await sendRaw(vendor.port, GET)).text).toBe("");
    expect(counts.worked).toBe(1);
  });

  test("an answer can be cut so many bytes before its end", async () => {
    const vendor = await openEcho();
    vendor.answerNext({ kind: "close", afterBytes: -2 });
    const cut = await sendRaw(vendor.port, GET);
    expect(cut).toMatchObject({ closed: true, reset: false });
    expect(cut.responses[0]).toMatchObject({ body: BODY.slice(0, -2), complete: false });
    vendor.answerNext({ kind: "reset", afterBytes: Infinity });
    const whole = await sendRaw(vendor.port, GET);
    expect(whole.reset).toBe(true);
    expect(whole.responses[0]).toMatchObject({ body: BODY, complete: true });
  });

  test("reset: RST before any byte, or after so many", async () => {
    const counts = { worked: 0 };
    const vendor = await openEcho(counts);
    vendor.answerNext({ kind: "reset" });
    expect(await sendRaw(vendor.port, GET)).toMatchObject({ text: "", closed: true, reset: true });
    expect(counts.worked).toBe(0);
    vendor.answerNext({ kind: "reset", afterBytes: 20 });
    const { text, reset } = await sendRaw(vendor.port, GET);
    expect({ length: text.length, reset }).toEqual({ length: 20, reset: true });
    expect(counts.worked).toBe(1);
  });

  test("hang: nothing, or a beginning and then nothing, until the caller gives up", async () => {
    const vendor = await openEcho();
    vendor.answerNext({ kind: "hang" });
    expect(await sendRaw(vendor.port, GET, { waitMs: 100 })).toMatchObject({ text: "", closed: false });
    vendor.answerNext({ kind: "hang", afterBytes: 12 });
    expect((await sendRaw(vendor.port, GET, { waitMs: 100 })).text).toBe("HTTP/1.1 200");
    await Bun.sleep(50);
    expect(vendor.connections()).toEqual({ opened: 2, open: 0 });
  });

  test.each([301, 302, 307, 308] as const)(
    "redirect %d leads to the attacker, who counts",
    async (status) => {
      const vendor = await openEcho();
      const attacker = await keep(openAttackerListener());
      vendor.answerNext({ kind: "redirect", status, location: `${attacker.url}/steal` });
      const answer = await fetch(`${vendor.url}/a`, { redirect: "manual" });
      expect(answer.status).toBe(status);
      expect(answer.headers.get("location")).toBe(`${attacker.url}/steal`);
      expect([attacker.connections(), attacker.bytes()]).toEqual([0, 0]);

      vendor.answerNext({ kind: "redirect", status, location: `${attacker.url}/steal` });
      await fetch(`${vendor.url}/a`, { signal: AbortSignal.timeout(150) }).catch(() => undefined);
      expect(attacker.connections()).toBe(1);
      expect(attacker.bytes()).toBeGreaterThan(0);
      expect(attacker.received()).toStartWith("GET /steal HTTP/1.1\r\n");
    },
  );

  test("truncated: fewer bytes than announced, then FIN", async () => {
    const vendor = await openEcho();
    vendor.answerNext({ kind: "truncated", missingBytes: 10 });
    const { responses, closed } = await sendRaw(vendor.port, GET);
    expect(closed).toBe(true);
    expect(responses[0]).toMatchObject({ status: 200, body: BODY, complete: false });
    expect(responses[0]?.headers).toContainEqual(["Content-Length", `${BODY.length + 10}`]);
  });

  test("garbage is no HTTP", async () => {
    const vendor = await openEcho();
    vendor.answerNext({ kind: "garbage" });
    const { text, responses } = await sendRaw(vendor.port, GET);
    expect(text).not.toBe("");
    expect(responses).toEqual([]);
    vendor.answerNext({ kind: "garbage" });
    expect(await outcomeOf(fetch(`${vendor.url}/a`))).toBe("failed");
  });

  test("endless: it floods or beats until the caller leaves", async () => {
    const vendor = await openEcho();
    vendor.answerNext({ kind: "endless" });
    const flood = await sendRaw(vendor.port, GET, { waitMs: 200 });
    expect(flood.text.length).toBeGreaterThan(1024 * 1024);
    expect(flood.closed).toBe(false);

    vendor.answerNext({
      kind: "endless",
      chunk: ": ping\n\n",
      everyMs: 10,
      contentType: "text/event-stream",
    });
    const { text } = await sendRaw(vendor.port, GET, { waitMs: 150 });
    expect(text.split(": ping").length).toBeGreaterThan(3);
    await Bun.sleep(50);
    expect(vendor.connections().open).toBe(0);
  });

  test("huge: exactly so many bytes of JSON", async () => {
    const vendor = await openEcho();
    vendor.answerNext({ kind: "huge", bytes: 5_000_000 });
    const text = await (await fetch(`${vendor.url}/a`)).text();
    expect(text.length).toBe(5_000_000);
    expect(JSON.parse(text)).toHaveProperty("pad");
  });

  test("slow: the same body, later", async () => {
    const vendor = await openEcho();
    vendor.answerNext({ kind: "slow", chunkBytes: 4, everyMs: 20 });
    const before = performance.now();
    expect(await (await fetch(`${vendor.url}/a`)).text()).toBe(BODY);
    expect(performance.now() - before).toBeGreaterThan(80);
  });

  test("interim flood: many 1xx, then the answer, or never", async () => {
    const vendor = await openEcho();
    vendor.answerNext({ kind: "interim-flood", count: 50 });
    const { responses } = await sendRaw(vendor.port, GET, { expectResponses: 1 });
    expect(responses.filter(({ status }) => status === 103)).toHaveLength(50);
    expect(responses.at(-1)?.body).toBe(BODY);

    vendor.answerNext({ kind: "interim-flood", count: Infinity, status: 100 });
    const endless = await sendRaw(vendor.port, GET, { waitMs: 100 });
    expect(endless.responses.length).toBeGreaterThan(50);
    expect(endless.responses.every(({ status }) => status === 100)).toBe(true);
  });

  test("two Content-Lengths stand on the wire, different or equal", async () => {
    const vendor = await openEcho();
    vendor.answerNext({ kind: "two-content-lengths" });
    const { text } = await sendRaw(vendor.port, GET);
    expect(text).toContain(`Content-Length: ${BODY.length}\r\nContent-Length: ${BODY.length + 5}\r\n`);
    vendor.answerNext({ kind: "two-content-lengths", values: ["17", "17"] });
    expect((await sendRaw(vendor.port, GET)).text).toContain("Content-Length: 17\r\nContent-Length: 17\r\n");
  });

  test("not JSON, yet 200", async () => {
    const vendor = await openEcho();
    vendor.answerNext({ kind: "not-json" });
    const answer = await fetch(`${vendor.url}/a`);
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/html"]);
    vendor.answerNext({ kind: "not-json", contentType: "application/json", body: "{" });
    expect(await outcomeOf((await fetch(`${vendor.url}/a`)).json())).toBe("failed");
  });

  test("gzip: unasked, layered, or a bomb", async () => {
    const vendor = await openEcho();
    vendor.answerNext({ kind: "gzip" });
    const [plain] = (await sendRaw(vendor.port, GET, { expectResponses: 1 })).responses;
    expect(plain?.headers).toContainEqual(["Content-Encoding", "gzip"]);
    expect(gunzipSync(plain?.bodyBytes ?? "").toString()).toBe(BODY);

    vendor.answerNext({ kind: "gzip", layers: 3 });
    const [layered] = (await sendRaw(vendor.port, GET, { expectResponses: 1 })).responses;
    expect(layered?.headers).toContainEqual(["Content-Encoding", "gzip, gzip, gzip"]);
    expect(gunzipSync(gunzipSync(gunzipSync(layered?.bodyBytes ?? ""))).toString()).toBe(BODY);

    vendor.answerNext({ kind: "gzip", expandsToBytes: 50_000_001 });
    const [bomb] = (await sendRaw(vendor.port, GET, { expectResponses: 1 })).responses;
    expect(bomb?.bodyBytes.length).toBeLessThan(100_000);
    expect(gunzipSync(bomb?.bodyBytes ?? "").length).toBe(50_000_001);
  });

  test("a gzip bomb is a valid member at every size", () => {
    for (const bytes of [0, 1, 1024 * 1024, 1024 * 1024 + 1]) {
      expect(gunzipSync(gzipZeros(bytes)).length).toBe(bytes);
    }
  });

  test.each(Object.entries(oddHeaderLines))("odd header %s goes out unchanged", async (_, line) => {
    const vendor = await openEcho();
    vendor.answerNext({ kind: "odd-header", lines: [line] });
    const { text, closed } = await sendRaw(vendor.port, GET);
    expect(text).toContain(`\r\n${line}\r\n`);
    expect(text).toEndWith(BODY);
    expect(closed).toBe(true);
  });

  test("bytes: anything at all, and the connection as told", async () => {
    const vendor = await openEcho();
    const bytes = "HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\nbody";
    vendor.answerNext({ kind: "bytes", bytes, ending: "close" });
    expect(await sendRaw(vendor.port, GET)).toMatchObject({ text: bytes, closed: true, reset: false });
    vendor.answerNext({ kind: "bytes", bytes, ending: "reset" });
    expect(await sendRaw(vendor.port, GET)).toMatchObject({ text: bytes, closed: true, reset: true });
    vendor.answerNext({ kind: "bytes", bytes, ending: "hang" });
    expect(await sendRaw(vendor.port, GET, { waitMs: 100 })).toMatchObject({ text: bytes, closed: false });
  });

  test("closing ends hanging connections too", async () => {
    const vendor = await openEcho();
    vendor.answerNext({ kind: "hang" });
    const exchange = sendRaw(vendor.port, GET, { waitMs: 5000 });
    await Bun.sleep(50);
    await vendor.close();
    expect((await exchange).closed).toBe(true);
    expect((await sendRaw(vendor.port, GET)).reset).toBe(true);
  });
});

describe("sendRaw", () => {
  test("a body without framing is complete only when the peer closed", async () => {
    const vendor = await openEcho();
    const bytes = "HTTP/1.1 200 OK\r\n\r\nabc";
    vendor.answerNext({ kind: "bytes", bytes, ending: "close" });
    expect((await sendRaw(vendor.port, GET)).responses[0]).toMatchObject({ body: "abc", complete: true });
    vendor.answerNext({ kind: "bytes", bytes, ending: "hang" });
    const { responses } = await sendRaw(vendor.port, GET, { waitMs: 80 });
    expect(responses[0]).toMatchObject({ body: "abc", complete: false });
  });

  test("the answer to HEAD has no body, whatever its Content-Length", async () => {
    const vendor = await openEcho();
    vendor.answerNext({
      kind: "bytes",
      bytes: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
      ending: "keep",
    });
    const { responses } = await sendRaw(vendor.port, "HEAD /a HTTP/1.1\r\nHost: v\r\n\r\n", {
      expectResponses: 1,
    });
    expect(responses[0]).toMatchObject({ status: 200, body: "", complete: true });
  });

  test("a string that is not latin1 is refused rather than mangled", () => {
    expect(() => sendRaw(1, "GET /\u20ac")).toThrow("latin1");
  });
});

describe("rerank vendors", () => {
  const asked = { query: "red fox", documents: ["blue whale", "a red fox", "red door"] };

  test("jina: results with documents, usage in tokens", async () => {
    const vendor = await keep(openJinaDouble({ key: "k-1" }));
    const body = { model: "jina-reranker-v3", ...asked, top_n: 2 };
    const answer: unknown = await (await post(`${vendor.url}/rerank`, body)).json();
    expect(answer).toEqual({
      model: "jina-reranker-v3",
      usage: { total_tokens: 14 },
      results: [
        { index: 1, relevance_score: 1, document: { text: "a red fox" } },
        { index: 2, relevance_score: 0.5, document: { text: "red door" } },
      ],
    });
    expect(vendor.book[0]).toMatchObject({ requestId: null, billed: { usage: { total_tokens: 14 } } });

    const bare: unknown = await (
      await post(`${vendor.url}/rerank`, { ...body, return_documents: false })
    ).json();
    expect(bare).toHaveProperty("results.0", { index: 1, relevance_score: 1 });
  });

  test("jina: results and usage can be overridden", async () => {
    const results = [{ index: 99, relevance_score: 2 }];
    const vendor = await keep(openJinaDouble({ key: "k-1", results, usage: { total_tokens: 0 } }));
    const answer = await post(`${vendor.url}/rerank`, { model: "jina-reranker-v3", ...asked });
    expect(await answer.json()).toMatchObject({ results, usage: { total_tokens: 0 } });
    expect(vendor.book[0]?.billed.usage).toEqual({ total_tokens: 0 });
  });

  test("cohere: scores only, usage in search units", async () => {
    const vendor = await keep(openCohereDouble({ key: "k-1" }));
    expect(vendor.url).toEndWith("/v2");
    const documents = Array.from({ length: 101 }, (_, index) => `red ${index}`);
    const body = { model: "rerank-v3.5", query: "red", documents, top_n: 1 };
    const answer: unknown = await (await post(`${vendor.url}/rerank`, body)).json();
    expect(answer).toEqual({
      id: "cohere-000000000001",
      results: [{ index: 0, relevance_score: 1 }],
      meta: { api_version: { version: "2" }, billed_units: { search_units: 2 } },
    });
    expect(vendor.book[0]).toMatchObject({
      requestId: "cohere-000000000001",
      billed: { units: { search_units: 2 } },
    });
  });

  test("voyage: data, documents as strings and only when asked", async () => {
    const vendor = await keep(openVoyageDouble({ key: "k-1" }));
    const body = { model: "rerank-2.5", ...asked, top_k: 1, return_documents: true };
    const answer: unknown = await (await post(`${vendor.url}/rerank`, body)).json();
    expect(answer).toEqual({
      object: "list",
      data: [{ index: 1, relevance_score: 1, document: "a red fox" }],
      model: "rerank-2.5",
      usage: { total_tokens: 14 },
    });
    expect(vendor.book[0]?.billed).toEqual({ model: "rerank-2.5", usage: { total_tokens: 14 } });
    const bare: unknown = await (
      await post(`${vendor.url}/rerank`, { model: "rerank-2.5", ...asked })
    ).json();
    expect(bare).toHaveProperty("data.0", { index: 1, relevance_score: 1 });
  });

  const dialects = [
    {
      name: "jina",
      open: openJinaDouble,
      model: "jina-reranker-v3",
      stranger: "top_k",
      status: 422,
      word: "detail",
    },
    {
      name: "cohere",
      open: openCohereDouble,
      model: "rerank-v3.5",
      stranger: "return_documents",
      status: 400,
      word: "message",
    },
    {
      name: "voyage",
      open: openVoyageDouble,
      model: "rerank-2.5",
      stranger: "top_n",
      status: 400,
      word: "detail",
    },
  ] as const;
  test.each(dialects)("$name refuses in its own words and bills nothing", async (dialect) => {
    const vendor: VendorDouble & { readonly book: readonly object[] } = await keep<
      VendorDouble & { readonly book: readonly object[] }
    >(dialect.open({ key: "k-1" }));
    const body = { model: dialect.model, ...asked };
    const url = `${vendor.url}/rerank`;
    const refusals = [
      [await post(url, body, { Authorization: "Bearer other" }), 401],
      [await post(url, body, {}), 401],
      [await post(url, { ...body, [dialect.stranger]: 1 }), dialect.status],
      [await post(url, { ...body, documents: [] }), dialect.status],
      [await post(url, { ...body, query: undefined }), dialect.status],
      [await post(url, body, { Authorization: "Bearer k-1", "Content-Type": "text/plain" }), dialect.status],
      [await get(url), 404],
    ] as const;
    for (const [answer, status] of refusals) {
      expect(answer.status).toBe(status);
      expect(await answer.json()).toEqual({ [dialect.word]: expect.any(String) as unknown });
    }
    expect(vendor.book).toEqual([]);
  });
});

describe("tikhub", () => {
  test.each([
    ["/tiktok/app/v3/fetch_creator_search_insights_videos?keyword=cat&offset=0", "0.001"],
    ["/tiktok/shop/web/fetch_search_word_suggestion_v2?search_word=phone", "0.001"],
    ["/tiktok/web/fetch_tag_detail?tag_name=cat", "0.001"],
    ["/instagram/v2/fetch_user_stories?username=nasa", "0.002"],
  ])("%s answers the envelope and bills %s", async (path, usd) => {
    const vendor = await keep(openTikHubDouble({ key: "k-1" }));
    expect(vendor.url).toEndWith("/api/v1");
    const answer = await get(vendor.url + path);
    expect(answer.status).toBe(200);
    const [endpoint = "", query] = path.split("?");
    expect(await answer.json()).toMatchObject({
      code: 200,
      request_id: "tikhub-000000000001",
      message: "Request successful. This request will incur a charge.",
      router: `/api/v1${endpoint}`,
      params: Object.fromEntries(new URLSearchParams(query)),
      data: expect.anything() as unknown,
    });
    expect(vendor.book).toMatchObject([{ requestId: "tikhub-000000000001", billed: { endpoint, usd } }]);
  });

  test("refuses under `detail` and bills nothing", async () => {
    const vendor = await keep(openTikHubDouble({ key: "k-1" }));
    const tag = `${vendor.url}/tiktok/web/fetch_tag_detail`;
    const unkeyed = await get(`${tag}?tag_name=a`, {});
    expect(unkeyed.status).toBe(401);
    expect(await unkeyed.json()).toMatchObject({ detail: { code: 401, message: "Invalid API token." } });
    const incomplete = await get(tag);
    expect(incomplete.status).toBe(422);
    expect(await incomplete.json()).toMatchObject({
      detail: [{ loc: ["query", "tag_name"], type: "missing" }],
    });
    expect((await get(`${vendor.url}/instagram/v2/fetch_user_stories`)).status).toBe(400);
    expect((await get(`${vendor.url}/tiktok/web/other`)).status).toBe(404);
    expect((await post(`${tag}?tag_name=a`, {})).status).toBe(405);
    expect(vendor.book).toEqual([]);
  });

  test.each([
    ["200", 200],
    [400, 200],
    [200, 500],
  ])("code %p with HTTP %d is told but not billed", async (code, status) => {
    const vendor = await keep(openTikHubDouble({ key: "k-1", code, status }));
    const answer = await get(`${vendor.url}/tiktok/web/fetch_tag_detail?tag_name=a`);
    expect(answer.status).toBe(status);
    expect(await answer.json()).toHaveProperty("code", code);
    expect(vendor.book).toEqual([]);
  });
});

describe("financialdatasets", () => {
  const key = { "X-API-KEY": "k-1" };

  test("answers a snapshot by ticker or cik, and bills each", async () => {
    const vendor = await keep(openFinancialDatasetsDouble({ key: "k-1" }));
    const url = `${vendor.url}/financial-metrics/snapshot`;
    for (const query of ["ticker=AAPL", "cik=0000320193"]) {
      const answer = await get(`${url}?${query}`, key);
      expect(answer.status).toBe(200);
      expect(await answer.json()).toHaveProperty("snapshot.ticker", "AAPL");
    }
    expect(vendor.book).toMatchObject([{ billed: { calls: 1 } }, { billed: { calls: 1 } }]);
  });

  test("refuses a wrong key, an unknown ticker, and no ticker; sends a slash on", async () => {
    const vendor = await keep(openFinancialDatasetsDouble({ key: "k-1" }));
    const url = `${vendor.url}/financial-metrics/snapshot`;
    const unkeyed = await get(`${url}?ticker=AAPL`);
    expect(unkeyed.status).toBe(401);
    expect(await unkeyed.json()).toHaveProperty("error", "Unauthorized");
    const unknown = await get(`${url}?ticker=XXXX`, key);
    expect(unknown.status).toBe(404);
    expect(await unknown.json()).toEqual({ error: "Not Found", message: "Ticker XXXX not found" });
    expect((await get(url, key)).status).toBe(400);
    const slash = await get(`${url}/?ticker=AAPL`, key);
    expect(slash.status).toBe(307);
    expect(slash.headers.get("location")).toBe("/financial-metrics/snapshot?ticker=AAPL");
    expect(vendor.book).toEqual([]);
  });
});
