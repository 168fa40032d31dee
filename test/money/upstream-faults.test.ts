// Upstreams that misbehave: what the caller is told, what is charged, and that the books stay right.

import { afterAll, describe, expect, test } from "bun:test";
import { json } from "../support/answers.ts";
import { oddHeaderLines, type ScriptedAnswer } from "../doubles/scripted-answer.ts";
import { openAttackerListener, openVendorDouble } from "../doubles/vendor-double.ts";
import { answerBytesMax, configFor, ranking, useFaultyVendors, type FaultyVendor } from "./faulty-vendors.ts";
import {
  creditMicros,
  openTestGateway,
  type TestAccount,
  type TestGateway,
} from "../support/test-gateway.ts";
import { holdOnDisk } from "../support/hold-on-disk.ts";
import { chat, snapshotPath, tagPath } from "../support/purchases.ts";

const { doubles, gateway, expectNotCharged } = await useFaultyVendors();
/** Where no key of the operator's may ever arrive. */
const attacker = await openAttackerListener();
afterAll(async () => {
  expect([attacker.connections(), attacker.bytes()]).toEqual([0, 0]);
  await attacker.close();
});

/** A port no system hands out, so that nobody can have taken it meanwhile. */
const nobodyListens = "http://127.0.0.1:9";

interface Target {
  readonly vendor: FaultyVendor;
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

test("an answer of whoever gave up waiting for the vendor passes as it came, and is not to be asked for again unseen", async () => {
  for (const status of [408, 504, 520, 522, 524]) {
    for (const target of targets) {
      const account = await gateway.openAccount();
      doubles[target.vendor].answerNext({ status, body: "too late" });
      const response = await target.send(account);
      expect([response.status, await response.text()]).toEqual([status, "too late"]);
      expect(response.headers.get("x-should-retry")).toBe("false");
      const attempts = [{ upstream: target.upstream, outcome: "answered", status }];
      await expectNotCharged(account, response, { outcome: "failed", attempts });
    }
  }
});

test("a call in doubt is never said to be worth a retry, whoever manages its upstream", async () => {
  doubles.openai.answerNext({ kind: "hang" });
  const config = `
upstreams:
  openai: { protocol: openai, url: "${doubles.openai.url}", key: sk-key-000000, transport: managed, timeout_ms: 2000 }
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
      const askedAtMs = Date.now();
      const response = await target.send(account);
      expect([response.status, response.headers.get("retry-after")]).toEqual([429, kept]);
      const refusal = await json<{ error: { limit: { reset: number } } }>(response);
      // The same moment as a Unix timestamp.
      const { reset } = refusal.error.limit;
      expect(reset).toBeGreaterThanOrEqual(Math.ceil(askedAtMs / 1_000) + Number(kept));
      expect(reset).toBeLessThanOrEqual(Math.ceil(Date.now() / 1_000) + Number(kept));
      const error = {
        type: "rate_limit_error",
        code: "upstream_rate_limit",
        message: "The upstream is busy; nothing was charged.",
        limit: { name: "upstream", limit: null, remaining: 0, reset },
      };
      expect(refusal as unknown).toEqual(
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
  // Google puts it in a list where the answer would have been one.
  const bodies: object[] = [{ error }, [{ error }]];
  const vendor = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => Response.json(bodies.shift(), { status: 429 }),
  });
  const config = `upstreams: { gemini: { protocol: gemini, url: "http://127.0.0.1:${vendor.port}", key: g-key-000000 } }`;
  const tollgate = await openTestGateway({ config });
  const account = await tollgate.openAccount();
  const contents = [{ role: "user", parts: [{ text: "hello" }] }];
  const path = "/v1beta/models/gemini-2.5-flash:generateContent";
  while (bodies.length > 0) {
    const response = await tollgate.post(account, path, { contents });
    expect([response.status, response.headers.get("retry-after")]).toEqual([429, "37"]);
  }
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
      // What is owed is nobody else's business, and a caller would take it for a word about their own balance.
      const attempts = [{ upstream: target.upstream, outcome: "key_rejected", status: null }];
      await expectNotCharged(account, response, { outcome: "failed", http_status: null, attempts });
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
