// Upstreams that misbehave: what the caller is told, what is charged, and that the books stay right.

import { holdOnDisk } from "./hold-on-disk.ts";
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createForwarder } from "../gateway/src/upstreams/forwarder.ts";
import { createHttpClient } from "../gateway/src/upstreams/http-client.ts";
import { protocols } from "../gateway/src/upstreams/protocols.ts";
import { begunStream, receiptOfDied } from "./died-stream.ts";
import { openFinancialDatasetsDouble } from "./doubles/financialdatasets.ts";
import { openJinaDouble } from "./doubles/jina.ts";
import { openOpenAiDouble } from "./doubles/openai.ts";
import { oddHeaderLines, type ScriptedAnswer } from "./doubles/scripted-answer.ts";
import { openTikHubDouble } from "./doubles/tikhub.ts";
import { omitted, type JsonValue } from "./doubles/vendor-checks.ts";
import { openAttackerListener, openVendorDouble, type AttackerListener } from "./doubles/vendor-double.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "./harness.ts";

const answerBytesMax = 1024 * 1024;
const timeoutMs = 1_000;
const bodyTimeoutMs = 1_000;
/** A port no system hands out, so that nobody can have taken it meanwhile. */
const nobodyListens = "http://127.0.0.1:9";
const creditMicros = 2_000_000;

/** What the doubles state beyond the truth; a test sets it for one call. */
const lies: {
  chatUsage?: JsonValue | typeof omitted;
  chatReply?: string;
  rerankUsage?: JsonValue | typeof omitted;
  tikhubCode?: JsonValue | typeof omitted;
} = {};

const openDoubles = async () => ({
  financialdatasets: await openFinancialDatasetsDouble({ key: "fd-key-000000" }),
  openai: await openOpenAiDouble({
    key: "sk-key-000000",
    usage: () => ("chatUsage" in lies ? lies.chatUsage : { prompt_tokens: 8, completion_tokens: 2 }),
    reply: () => lies.chatReply ?? "The quick brown fox.",
  }),
  jina: await openJinaDouble({
    key: "jina-key-000000",
    usage: () => lies.rerankUsage ?? { total_tokens: 40 },
  }),
  tikhub: await openTikHubDouble({ key: "th-key-000000", code: () => lies.tikhubCode ?? 200 }),
});

const configFor = (url: (vendor: keyof Awaited<ReturnType<typeof openDoubles>>) => string): string => `
upstreams:
  findata: { protocol: financialdatasets, url: "${url("financialdatasets")}", key: fd-key-000000, timeout_ms: ${timeoutMs} }
  openai: { protocol: openai, url: "${url("openai")}", key: sk-key-000000, timeout_ms: ${timeoutMs} }
  jina: { protocol: jina, url: "${url("jina")}", key: jina-key-000000, timeout_ms: ${timeoutMs} }
  reseller: { protocol: tikhub, url: "${url("tikhub")}", key: th-key-000000, timeout_ms: ${timeoutMs} }
models:
  gpt-x: { via: [openai], price: { input: 2.5, cache_read: 0.25, output: 10 }, max_output_tokens: 1000 }
`;

const chat = { model: "gpt-x", messages: [{ role: "user", content: "Say it!?" }], max_tokens: 100 };
const ranking = { query: "red fox", documents: ["a blue whale", "the red fox"] };
const snapshotPath = "/apis/v1/financial/financial-metrics/snapshot?ticker=AAPL";
const tagPath = "/apis/v1/reseller/social_c/web/fetch_tag_detail?tag_name=fox";

interface Target {
  readonly vendor: keyof Awaited<ReturnType<typeof openDoubles>>;
  readonly upstream: string;
  readonly dialect: "plain" | "openai";
  readonly managed: boolean;
  readonly chargeMicros: number;
  readonly send: (account: TestAccount, at?: TestGateway) => Promise<Response>;
}

const targets: readonly Target[] = [
  {
    vendor: "financialdatasets",
    upstream: "findata",
    dialect: "plain",
    managed: false,
    chargeMicros: 48_000,
    send: (account, at = gateway) => at.call(account, snapshotPath),
  },
  {
    vendor: "openai",
    upstream: "openai",
    dialect: "openai",
    managed: false,
    chargeMicros: 8 * 2.5 + 2 * 10,
    send: (account, at = gateway) => at.post(account, "/v1/chat/completions", chat),
  },
  {
    vendor: "jina",
    upstream: "jina",
    dialect: "plain",
    managed: false,
    chargeMicros: 40 * 0.05,
    send: (account, at = gateway) => at.post(account, "/v1/rerank", ranking),
  },
  {
    vendor: "tikhub",
    upstream: "reseller",
    dialect: "plain",
    managed: true,
    chargeMicros: 1_450,
    send: (account, at = gateway) => at.call(account, tagPath),
  },
];

let doubles: Awaited<ReturnType<typeof openDoubles>>;
let attacker: AttackerListener;
let gateway: TestGateway;
let books: Database;
const unhandled: unknown[] = [];
const noteUnhandled = (reason: unknown): void => void unhandled.push(reason);

beforeAll(async () => {
  process.on("unhandledRejection", noteUnhandled);
  doubles = await openDoubles();
  attacker = await openAttackerListener();
  gateway = await openTestGateway({
    config: configFor((vendor) => doubles[vendor].url),
    parts: {
      forwarder: createForwarder(createHttpClient({ answerBytesMax, bodyTimeoutMs }), protocols),
    },
  });
  // A connection of our own: what it sees is committed.
  books = new Database(gateway.databasePath, { readonly: true });
});

afterAll(async () => {
  expect([attacker.connections(), attacker.bytes()]).toEqual([0, 0]);
  expect(await gateway.sandbox.book()).toEqual([]);
  expect(await gateway.audit()).toEqual([]);
  expect(unhandled).toEqual([]);
  process.off("unhandledRejection", noteUnhandled);
  books.close();
  await gateway.close();
  await attacker.close();
  await Promise.all(Object.values(doubles).map((double) => double.close()));
});

const json = async <Shape>(response: Response | Promise<Response>): Promise<Shape> =>
  (await (await response).json()) as Shape;

const receiptOf = (account: TestAccount, response: Response, at = gateway) => at.receipt(account, response);

/** Money, receipt and report of a call that ended without a charge. */
const expectNotCharged = async (
  account: TestAccount,
  response: Response,
  receipt: {
    readonly outcome: string;
    readonly attempts: readonly object[];
    readonly http_status?: number | null;
  },
  at = gateway,
): Promise<void> => {
  expect(await at.balance(account)).toEqual({ balance: creditMicros, held: 0 });
  expect(response.headers.get("x-tollgate-cost-micros-usd")).toBe("0");
  const written = await receiptOf(account, response, at);
  expect(written).toMatchObject({
    status: "released",
    usage: {},
    usage_source: "none",
    charged_micros_usd: 0,
    usage_value_micros_usd: 0,
    ...receipt,
  });
  expect(written.attempts).toHaveLength(1);
  const start = Math.floor(Date.now() / 1000) - 3600;
  const { totals } = await json<{ totals: object }>(at.call(account, `/v1/usage?start_time=${start}`));
  expect(totals).toMatchObject({ requests: 1, failed_requests: 1, charged_micros_usd: 0 });
};

/** The body of a refusal when there is no answer of the upstream's to pass on; what was sent may have been done. */
const transportFailure = (
  target: Target,
  { sent, requestId }: { readonly sent: boolean; readonly requestId: string | null },
): unknown => {
  if (target.managed) {
    const message = "The provider cannot serve this call now; nothing was charged.";
    return { error: { code: "provider_unavailable", message, retryable: !sent, request_id: requestId } };
  }
  const [message, code] = ["provider request failed", "provider_request_failed"];
  return target.dialect === "plain"
    ? { error: message, code, request_id: requestId }
    : { error: { message, type: "server_error", param: null, code } };
};

interface Fault {
  readonly what: string;
  readonly script: (() => ScriptedAnswer) | ScriptedAnswer;
  readonly reason: string;
  readonly outcome?: "unknown";
}

const faults: readonly Fault[] = [
  { what: "closes without an answer", script: { kind: "close" }, reason: "cut_off", outcome: "unknown" },
  {
    what: "does the work and closes without an answer",
    script: { kind: "close", afterWork: true },
    reason: "cut_off",
    outcome: "unknown",
  },
  { what: "resets before any byte", script: { kind: "reset" }, reason: "cut_off", outcome: "unknown" },
  {
    what: "resets within the head",
    script: { kind: "reset", afterBytes: 20 },
    reason: "cut_off",
    outcome: "unknown",
  },
  {
    what: "resets just before the last byte",
    script: { kind: "reset", afterBytes: -1 },
    reason: "cut_off",
    outcome: "unknown",
  },
  { what: "hangs for longer than it may", script: { kind: "hang" }, reason: "timeout", outcome: "unknown" },
  {
    what: "hangs in the middle of its answer",
    script: { kind: "hang", afterBytes: -3 },
    reason: "timeout",
    outcome: "unknown",
  },
  {
    what: "trickles a heartbeat for ever",
    script: { kind: "endless", chunk: " ", everyMs: 40 },
    reason: "timeout",
    outcome: "unknown",
  },
  {
    what: "never comes to the point after interim answers",
    script: { kind: "interim-flood", count: Infinity },
    reason: "timeout",
    outcome: "unknown",
  },
  ...([301, 302, 307, 308] as const).map((status): Fault => ({
    what: `redirects to an attacker with ${status}`,
    script: () => ({ kind: "redirect", status, location: `${attacker.url}/steal` }),
    reason: "redirect",
  })),
  {
    what: "ends before the announced length",
    script: { kind: "truncated" },
    reason: "cut_off",
    outcome: "unknown",
  },
  { what: "sends garbage", script: { kind: "garbage" }, reason: "malformed" },
  { what: "floods without end", script: { kind: "endless" }, reason: "too_large" },
  {
    what: "announces more than is read",
    script: { kind: "huge", bytes: answerBytesMax + 1 },
    reason: "too_large",
  },
  { what: "gives two lengths", script: { kind: "two-content-lengths" }, reason: "malformed" },
  {
    what: "gives the same length twice",
    script: { kind: "two-content-lengths", values: ["10", "10"] },
    reason: "malformed",
  },
  {
    what: "gives a small length beside a flood of chunks",
    script: {
      kind: "bytes",
      bytes: `HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n${`10000\r\n${"a".repeat(65_536)}\r\n`.repeat(20)}`,
      ending: "hang",
    },
    reason: "malformed",
  },
  { what: "answers with a status nobody knows", script: { status: 600, body: "x" }, reason: "malformed" },
  { what: "switches protocols unasked", script: { status: 101 }, reason: "malformed" },
  {
    what: "puts a NUL into a header",
    script: { kind: "odd-header", lines: [oddHeaderLines.nul] },
    reason: "malformed",
  },
  {
    what: "sends a gzip bomb",
    script: { kind: "gzip", expandsToBytes: 64 * 1024 * 1024 },
    reason: "too_large",
  },
  { what: "nests gzip in gzip", script: { kind: "gzip", layers: 2 }, reason: "malformed" },
  {
    what: "calls gzip what is none",
    script: { status: 200, headers: { "Content-Encoding": "gzip" }, body: "plain" },
    reason: "malformed",
  },
];

test.each(faults)("an upstream that $what is a transport failure and costs nothing", async (fault) => {
  const meet = async (target: Target): Promise<void> => {
    const double = doubles[target.vendor];
    const before = double.requests.length;
    const account = await gateway.openAccount();
    double.answerNext(typeof fault.script === "function" ? fault.script() : fault.script);
    const response = await target.send(account);

    expect(response.status).toBe(target.managed ? 503 : 502);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await json<unknown>(response)).toEqual(
      transportFailure(target, { sent: true, requestId: response.headers.get("x-request-id") }),
    );
    expect(response.headers.get("x-should-retry")).toBe("false");
    await expectNotCharged(account, response, {
      outcome: fault.outcome ?? "failed",
      http_status: null,
      attempts: [{ upstream: target.upstream, outcome: fault.reason, status: null }],
    });
    expect(double.requests).toHaveLength(before + 1);
  };
  // Each vendor has a double of its own, so their waits may run side by side.
  await Promise.all(targets.map(meet));
  expect(await gateway.audit()).toEqual([]);
});

test("an upstream that cannot be reached is a transport failure, and it is certain that nothing was sent", async () => {
  const deaf = await openTestGateway({ config: configFor(() => nobodyListens) });
  for (const target of targets) {
    const account = await deaf.openAccount();
    const response = await target.send(account, deaf);
    expect(response.status).toBe(target.managed ? 503 : 502);
    expect(await json<unknown>(response)).toEqual(
      transportFailure(target, { sent: false, requestId: response.headers.get("x-request-id") }),
    );
    expect(response.headers.get("x-should-retry")).toBe("true");
    const attempts = [{ upstream: target.upstream, outcome: "unreachable", status: null }];
    await expectNotCharged(account, response, { outcome: "failed", attempts }, deaf);
  }
  expect(await deaf.audit()).toEqual([]);
  await deaf.close();
});

test("a call in doubt is never said to be worth a retry, whoever manages its upstream", async () => {
  doubles.openai.answerNext({ kind: "hang" });
  const config = `
upstreams:
  openai: { protocol: openai, url: "${doubles.openai.url}", key: sk-key-000000, transport: managed, timeout_ms: 300 }
models: { gpt-x: { via: [openai], price: { input: 2.5, output: 10 }, max_output_tokens: 1000 } }`;
  const managed = await openTestGateway({ config });
  const account = await managed.openAccount();
  const response = await managed.post(account, "/v1/chat/completions", chat);
  expect(response.status).toBe(503);
  expect(response.headers.get("x-should-retry")).toBe("false");
  expect(await json<unknown>(response)).toMatchObject({ error: { retryable: false } });
  await managed.close();
});

const passedOn: readonly {
  readonly what: string;
  readonly answer: Required<Pick<PlainAnswer, "status" | "type" | "body">>;
}[] = [
  {
    what: "a 200 that is not JSON",
    answer: { status: 200, type: "text/html", body: "<h1>maintenance</h1>" },
  },
  {
    what: "a 200 of JSON that proves nothing",
    answer: { status: 200, type: "application/json", body: '{"ok":1}' },
  },
  {
    what: "a 200 of JSON cut short",
    answer: { status: 200, type: "application/json", body: '{"code":200,"sn' },
  },
  { what: "a 299 in plain text", answer: { status: 299, type: "text/plain", body: "odd" } },
  { what: "a 418", answer: { status: 418, type: "text/plain", body: "teapot" } },
  { what: "a 599", answer: { status: 599, type: "application/json", body: '{"code":200}' } },
  { what: "a 503 in HTML", answer: { status: 503, type: "text/html", body: "<h1>down</h1>" } },
];

interface PlainAnswer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

test.each(passedOn)("$what is passed on as it came and not charged", async ({ answer }) => {
  for (const target of targets) {
    const account = await gateway.openAccount();
    const double = doubles[target.vendor];
    const before = double.requests.length;
    double.answerNext({ status: answer.status, headers: { "Content-Type": answer.type }, body: answer.body });
    const response = await target.send(account);
    expect([response.status, response.headers.get("content-type"), await response.text()]).toEqual([
      answer.status,
      answer.type,
      answer.body,
    ]);
    await expectNotCharged(account, response, {
      outcome: "failed",
      http_status: answer.status,
      attempts: [{ upstream: target.upstream, outcome: "answered", status: answer.status }],
    });
    expect(double.requests).toHaveLength(before + 1);
  }
  expect(await gateway.audit()).toEqual([]);
});

const harmless: readonly { readonly what: string; readonly script: ScriptedAnswer }[] = [
  { what: "gzip nobody asked for", script: { kind: "gzip" } },
  { what: "a few hundred interim answers first", script: { kind: "interim-flood", count: 300 } },
  { what: "a slow answer", script: { kind: "slow", chunkBytes: 200, everyMs: 1 } },
  {
    what: "odd bytes in a header",
    script: { kind: "odd-header", lines: [oddHeaderLines.latin1, oddHeaderLines.huge] },
  },
];

test.each(harmless)("an answer with $what is read and charged like any other", async ({ script }) => {
  for (const target of targets) {
    const account = await gateway.openAccount();
    doubles[target.vendor].answerNext(script);
    const response = await target.send(account);
    expect(response.status).toBe(200);
    expect(response.headers.has("content-encoding")).toBe(false);
    expect(response.headers.has("x-odd")).toBe(false);
    expect(typeof (await json<unknown>(response))).toBe("object");
    expect(await gateway.balance(account)).toEqual({ balance: creditMicros - target.chargeMicros, held: 0 });
  }
});

describe("an upstream's 429", () => {
  interface Wait {
    readonly what: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly kept: string;
  }
  const cases: readonly Wait[] = [
    { what: "7 seconds", headers: { "Retry-After": "7" }, kept: "7" },
    { what: "no time at all", headers: { "Retry-After": "0" }, kept: "1" },
    { what: "nothing", headers: {}, kept: "1" },
    { what: "nonsense", headers: { "Retry-After": "soon" }, kept: "1" },
    {
      what: "a date",
      headers: { Date: "Wed, 21 Oct 2026 07:28:00 GMT", "Retry-After": "Wed, 21 Oct 2026 07:28:42 GMT" },
      kept: "42",
    },
    {
      what: "the moment at which X's limit eases",
      headers: {
        Date: "Wed, 21 Oct 2026 07:28:00 GMT",
        "X-Rate-Limit-Reset": String(Date.UTC(2026, 9, 21, 7, 38) / 1000),
      },
      kept: "600",
    },
  ];
  test.each(cases)("that asks for $what becomes ours, with Retry-After $kept", async ({ headers, kept }) => {
    for (const target of targets) {
      const account = await gateway.openAccount();
      const body = JSON.stringify({ error: "quota of sk-operator is used up" });
      doubles[target.vendor].answerNext({ status: 429, headers, body });
      const response = await target.send(account);
      expect([response.status, response.headers.get("retry-after")]).toEqual([429, kept]);
      const error = {
        type: "rate_limit_error",
        code: "upstream_rate_limit",
        message: "The upstream is busy; nothing was charged.",
        limit: { name: "upstream", limit: null, remaining: 0, reset: null },
      };
      expect(await json<unknown>(response)).toEqual(
        target.dialect === "plain"
          ? { error, request_id: response.headers.get("x-request-id") }
          : { error: { ...error, param: null } },
      );
      const attempts = [{ upstream: target.upstream, outcome: "rate_limited" }];
      await expectNotCharged(account, response, { outcome: "failed", attempts });
    }
    expect(await gateway.audit()).toEqual([]);
  });
});

test("what Gemini's 429 asks for in its body is kept as Retry-After", async () => {
  const details = [
    { "@type": "type.googleapis.com/google.rpc.QuotaFailure", violations: [] },
    { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "36.4s" },
  ];
  const error = { code: 429, message: "Quota exceeded.", status: "RESOURCE_EXHAUSTED", details };
  const vendor = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => Response.json({ error }, { status: 429 }),
  });
  const config = `upstreams: { gemini: { protocol: gemini, url: "http://127.0.0.1:${vendor.port}", key: g-key-000000 } }`;
  const tollgate = await openTestGateway({ config });
  const account = await tollgate.openAccount();
  const contents = [{ role: "user", parts: [{ text: "hello" }] }];
  const path = "/v1beta/models/gemini-2.5-flash:generateContent";
  const response = await tollgate.post(account, path, { contents });
  expect([response.status, response.headers.get("retry-after")]).toEqual([429, "37"]);
  await tollgate.close();
  await vendor.stop(true);
});

test.each([401, 402, 403])(
  "an upstream's %d is about the operator's key: its words are withheld",
  async (status) => {
    for (const target of targets) {
      const account = await gateway.openAccount();
      const body = JSON.stringify({ error: "Incorrect API key provided: sk-****abcd" });
      doubles[target.vendor].answerNext({ status, headers: { "Content-Type": "application/json" }, body });
      const response = await target.send(account);
      expect(response.status).toBe(503);
      const [code, message] = [
        "provider_unavailable",
        "The provider cannot serve this call now; nothing was charged.",
      ];
      expect(await json<unknown>(response)).toEqual(
        target.dialect === "plain"
          ? { error: { code, message, retryable: false, request_id: response.headers.get("x-request-id") } }
          : { error: { message, type: "server_error", param: null, code, retryable: false } },
      );
      const attempts = [{ upstream: target.upstream, outcome: "key_rejected", status }];
      await expectNotCharged(account, response, { outcome: "failed", http_status: status, attempts });
    }
    expect(await gateway.audit()).toEqual([]);
  },
);

test("calls that fail beside calls that succeed on the same connections never share an answer or a request", async () => {
  const account = await gateway.openAccount();
  const { openai } = doubles;
  const before = openai.requests.length;
  const kinds: readonly ScriptedAnswer[] = [
    { kind: "handler" },
    { kind: "close" },
    { kind: "handler" },
    { kind: "reset" },
  ];
  const statuses: number[] = [];
  for (const script of [...kinds, ...kinds, ...kinds]) {
    openai.answerNext(script);
    statuses.push((await gateway.post(account, "/v1/chat/completions", chat)).status);
  }
  expect(statuses).toEqual([200, 502, 200, 502, 200, 502, 200, 502, 200, 502, 200, 502]);
  expect(openai.requests).toHaveLength(before + 12);
  expect(await gateway.balance(account)).toEqual({ balance: creditMicros - 6 * 40, held: 0 });
});

describe("the reseller is paid for only by an integer 200 in the body of a 2xx", () => {
  const envelopes: readonly { readonly code?: JsonValue; readonly status: number; readonly paid: boolean }[] =
    [
      { code: 200, status: 200, paid: true },
      { code: 200, status: 203, paid: true },
      { code: "200", status: 200, paid: false },
      { code: 400, status: 200, paid: false },
      { code: 200, status: 500, paid: false },
      { code: 200, status: 404, paid: false },
      { status: 200, paid: false },
      { code: 200.5, status: 200, paid: false },
      { code: null, status: 200, paid: false },
      { code: [200], status: 200, paid: false },
      { code: true, status: 200, paid: false },
    ];
  test.each(envelopes)("code $code with HTTP $status: paid $paid", async ({ code, status, paid }) => {
    const account = await gateway.openAccount();
    const body = JSON.stringify({ code, data: { id: "7301234567890123459" } });
    doubles.tikhub.answerNext({ status, headers: { "Content-Type": "application/json" }, body });
    const response = await gateway.call(account, tagPath);
    expect([response.status, await response.text()]).toEqual([status, body]);
    const attempts = [{ upstream: "reseller", outcome: "answered", status }];
    if (paid) expect(await gateway.balance(account)).toEqual({ balance: creditMicros - 1_450, held: 0 });
    else await expectNotCharged(account, response, { outcome: "failed", http_status: status, attempts });
  });
});

describe("usage as the upstream states it", () => {
  const bytes = Buffer.byteLength(JSON.stringify(chat));
  const holdMicros = Math.ceil(bytes * 2.5 + 100 * 10);
  const usageOf = (prompt: JsonValue, completion: JsonValue, cached?: JsonValue): JsonValue => ({
    prompt_tokens: prompt,
    completion_tokens: completion,
    ...(cached === undefined ? {} : { prompt_tokens_details: { cached_tokens: cached } }),
  });

  interface Stated {
    readonly what: string;
    readonly usage: JsonValue | typeof omitted;
    readonly reply?: string;
    readonly charged: number;
    readonly writtenOff?: number;
    readonly anomalies?: number;
    readonly source?: "estimated" | "none";
  }

  // Without usage the input is estimated at four bytes a token, as is the output that came.
  const reply = "The quick brown fox.";
  const estimated = Math.floor(Math.ceil(bytes / 4) * 2.5 + Math.ceil(reply.length / 4) * 10);
  const inputCharge = Math.floor(8 * 2.5);
  // Nobody wrote down how much this model reads, so it is the most that any does.
  const reachTokens = 10 * (1_050_000 + 1000);

  const cases: readonly Stated[] = [
    { what: "0 costs 0", usage: usageOf(0, 0), charged: 0 },
    { what: "the true figures cost what they say", usage: usageOf(8, 2), charged: 40 },
    { what: "all that was held costs all that was held", usage: usageOf(bytes, 100), charged: holdMicros },
    {
      what: "one token above the hold is written off",
      usage: usageOf(bytes, 101),
      charged: holdMicros,
      writtenOff: Math.floor(bytes * 2.5 + 1010) - holdMicros,
    },
    {
      what: "ten times the hold is written off",
      usage: usageOf(bytes * 10, 1000),
      charged: holdMicros,
      writtenOff: Math.floor(bytes * 25 + 10_000) - holdMicros,
    },
    { what: "-1 counts as 0 and is noted", usage: usageOf(8, -1), charged: inputCharge, anomalies: 1 },
    { what: "1.5 counts as 1 and is noted", usage: usageOf(8, 1.5), charged: inputCharge + 10, anomalies: 1 },
    {
      what: "all that its model can read and write, ten times over, is written off",
      usage: usageOf(8, reachTokens),
      charged: holdMicros,
      writtenOff: inputCharge + reachTokens * 10 - holdMicros,
    },
    ...[reachTokens + 1, 1e12, 1e30].map((absurd) => ({
      what: `${absurd} tokens, which this call cannot use, count as the most it could, and are noted`,
      usage: usageOf(8, absurd),
      charged: holdMicros,
      writtenOff: inputCharge + reachTokens * 10 - holdMicros,
      // What no call at all can use is odd before anybody looks at this one.
      anomalies: absurd > 1e12 ? 2 : 1,
    })),
    { what: "nothing, beside output, is estimated", usage: omitted, charged: estimated, source: "estimated" },
    { what: "nothing, without output, costs nothing", usage: omitted, reply: "", charged: 0, source: "none" },
    { what: "null, without output, costs nothing", usage: null, reply: "", charged: 0, source: "none" },
    {
      what: "text is no figure: estimated and noted",
      usage: usageOf("12", "2"),
      charged: estimated,
      anomalies: 2,
      source: "estimated",
    },
    {
      what: "more cached than prompted counts as all cached and is noted",
      usage: usageOf(8, 2, 800),
      charged: 8 * 0.25 + 20,
      anomalies: 1,
    },
    {
      what: "negative cached counts as none and is noted",
      usage: usageOf(8, 2, -5),
      charged: 40,
      anomalies: 1,
    },
  ];

  const counter = async (name: string): Promise<number> => {
    const text = await (await fetch(`${gateway.url}/metrics`)).text();
    return [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\d+)$`, "gm"))].reduce(
      (sum, [, value]) => sum + Number(value),
      0,
    );
  };

  test.each(cases)(
    "$what",
    async ({ usage, reply: text = reply, charged, writtenOff = 0, anomalies = 0, source }) => {
      const account = await gateway.openAccount();
      const oddBefore = await counter("tollgate_usage_anomalies_total");
      const lostBefore = await counter("tollgate_written_off_micros_usd_total");
      const warnedBefore = gateway.logged.filter((line) => line.includes("odd usage reported")).length;
      lies.chatUsage = usage;
      lies.chatReply = text;
      const response = await gateway.post(account, "/v1/chat/completions", chat);
      delete lies.chatUsage;
      delete lies.chatReply;
      expect(response.status).toBe(200);

      const receipt = await receiptOf(account, response);
      expect(receipt).toMatchObject({
        status: source === "none" ? "released" : "settled",
        outcome: source === "none" ? "failed" : "succeeded",
        usage_source: source ?? "provider",
        held_micros_usd: source === "none" ? receipt.held_micros_usd : holdMicros,
        charged_micros_usd: charged,
        usage_value_micros_usd: charged + writtenOff,
      });
      for (const quantity of Object.values(receipt.usage)) expect(quantity).toBeGreaterThanOrEqual(0);
      expect(await gateway.balance(account)).toEqual({ balance: creditMicros - charged, held: 0 });

      const lost = books
        .query<{ micros: number }, [string]>(
          "SELECT coalesce(sum(amount_micros), 0) AS micros FROM entry WHERE transfer_id = ? AND kind = 'write_off' AND party = 'house:revenue'",
        )
        .get(response.headers.get("x-request-id") ?? "");
      expect(lost?.micros).toBe(writtenOff);
      expect(await counter("tollgate_written_off_micros_usd_total")).toBe(lostBefore + writtenOff);
      expect(await counter("tollgate_usage_anomalies_total")).toBe(oddBefore + anomalies);
      const warned = gateway.logged.filter((line) => line.includes("odd usage reported")).length;
      // One line tells of all of them.
      expect(warned).toBe(warnedBefore + Math.min(anomalies, 1));
      expect(await gateway.audit()).toEqual([]);
    },
  );

  test("odd figures in every event of a stream are counted, and told in one line", async () => {
    const account = await gateway.openAccount();
    const oddBefore = await counter("tollgate_usage_anomalies_total");
    const linesBefore = gateway.logged.length;
    const delta = { choices: [{ index: 0, delta: { content: "word" } }], usage: { prompt_tokens: -1 } };
    const stop = { choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage: usageOf(8, 2) };
    const events = [...Array.from({ length: 2_000 }, () => delta), stop].map((one) => JSON.stringify(one));
    doubles.openai.answerNext({
      status: 200,
      headers: { "Content-Type": "text/event-stream" },
      body: [...events, "[DONE]"].map((data) => `data: ${data}\n\n`).join(""),
    });
    await (await gateway.post(account, "/v1/chat/completions", { ...chat, stream: true })).text();
    expect(await counter("tollgate_usage_anomalies_total")).toBe(oddBefore + 2_000);
    const told = gateway.logged.slice(linesBefore).filter((line) => line.includes("odd usage reported"));
    expect(told).toHaveLength(1);
    expect(JSON.parse(told[0] ?? "")).toMatchObject({ count: 2_000 });
    expect(told[0]?.match(/prompt_tokens is negative/g)).toHaveLength(10);
  });

  test("a lie about tokens makes no nonsense of the usage report, whole or streamed", async () => {
    const reported = async (stated: number, more: object = {}): Promise<number> => {
      const account = await gateway.openAccount({ creditUsd: "50" });
      lies.chatUsage = usageOf(8, stated);
      await (await gateway.post(account, "/v1/chat/completions", { ...chat, ...more })).text();
      delete lies.chatUsage;
      const startSeconds = Math.floor(Date.now() / 1000) - 3600;
      const report = await gateway.call(account, `/v1/usage?start_time=${startSeconds}`);
      return ((await report.json()) as { totals: { output_tokens: number } }).totals.output_tokens;
    };
    expect(await reported(1e12)).toBe(reachTokens);
    expect(await reported(1e12, { stream: true })).toBe(reachTokens);
    // What a long call may use by its own length is believed, although no model is known to read so much.
    const long = { messages: [{ role: "user", content: "x".repeat(2_000_000) }] };
    expect(await reported(20_000_000, long)).toBe(20_000_000);
    expect(await reported(1e12, long)).toBe(
      10 * (Buffer.byteLength(JSON.stringify({ ...chat, ...long })) + 100),
    );
  });

  test("nor of what the next start charges, when the gateway dies in the middle of such a stream", async () => {
    const lie = {
      choices: [{ index: 0, delta: { content: "word" } }],
      usage: { prompt_tokens: 1e12, completion_tokens: 1 },
    };
    const vendor = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => begunStream(lie) });
    const doomed = await openTestGateway({ config: configFor(() => vendor.url.origin) });
    try {
      const account = await doomed.openAccount();
      const streamed = { ...chat, stream: true };
      expect(await receiptOfDied(doomed, account, "/v1/chat/completions", streamed)).toMatchObject({
        status: "settled",
        usage: { input_tokens: reachTokens, output_tokens: 1 },
      });
      expect(await doomed.audit()).toEqual([]);
    } finally {
      await doomed.close();
      await vendor.stop(true);
    }
  });

  test("NaN is not JSON: the answer is passed on and costs nothing", async () => {
    const account = await gateway.openAccount();
    const body =
      '{"choices":[{"message":{"content":"hi"}}],"usage":{"prompt_tokens":NaN,"completion_tokens":NaN}}';
    doubles.openai.answerNext({ status: 200, headers: { "Content-Type": "application/json" }, body });
    const response = await gateway.post(account, "/v1/chat/completions", chat);
    expect([response.status, await response.text()]).toEqual([200, body]);
    expect(await gateway.balance(account)).toEqual({ balance: creditMicros, held: 0 });
  });

  const rerankBytes =
    Buffer.byteLength(ranking.query) * 2 + Buffer.byteLength(ranking.documents.join("")) + 8 * 2;
  const rerankHold = Math.ceil(rerankBytes * 0.05);
  const rerankCases: readonly {
    readonly what: string;
    readonly usage: JsonValue | typeof omitted;
    readonly charged: number;
  }[] = [
    { what: "0", usage: { total_tokens: 0 }, charged: 0 },
    { what: "20", usage: { total_tokens: 20 }, charged: 1 },
    { what: "1e30", usage: { total_tokens: 1e30 }, charged: rerankHold },
    { what: "-1", usage: { total_tokens: -1 }, charged: 0 },
    {
      what: "text",
      usage: { total_tokens: "12" },
      charged: Math.floor(Math.ceil((rerankBytes - 16) / 4) * 0.05),
    },
    { what: "nothing", usage: omitted, charged: Math.floor(Math.ceil((rerankBytes - 16) / 4) * 0.05) },
  ];
  test.each(rerankCases)(
    "a rerank that states $what tokens is charged within its hold",
    async ({ usage, charged }) => {
      const account = await gateway.openAccount();
      lies.rerankUsage = usage;
      const response = await gateway.post(account, "/v1/rerank", ranking);
      delete lies.rerankUsage;
      expect(response.status).toBe(200);
      expect(await receiptOf(account, response)).toMatchObject({
        held_micros_usd: rerankHold,
        charged_micros_usd: charged,
      });
      expect(await gateway.balance(account)).toEqual({ balance: creditMicros - charged, held: 0 });
    },
  );

  test("a rerank without results and without usage costs nothing", async () => {
    const account = await gateway.openAccount();
    doubles.jina.answerNext({ status: 200, body: '{"results":[]}' });
    expect((await gateway.post(account, "/v1/rerank", ranking)).status).toBe(200);
    expect(await gateway.balance(account)).toEqual({ balance: creditMicros, held: 0 });
  });
});

test("the hold is on disk before a request leaves, seen from another connection when it arrives", async () => {
  const seen: (number | undefined)[] = [];
  const watcher = await openVendorDouble({
    handlers: {
      "*": async ({ headers }) => {
        const callId = headers.find(([name]) => name.toLowerCase() === "x-request-id")?.[1] ?? "";
        seen.push(await holdOnDisk(watched.data, callId));
        return { status: 503, body: "seen" };
      },
    },
  });
  const watched = await openTestGateway({ config: configFor(() => watcher.url) });
  for (const target of targets) {
    const account = await watched.openAccount();
    expect((await target.send(account, watched)).status).toBe(503);
    expect(seen.at(-1)).toBeGreaterThan(0);
  }
  expect(seen).toHaveLength(targets.length);
  await watched.close();
  await watcher.close();
});
