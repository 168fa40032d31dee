// Several upstreams for one operation: who is asked, who is asked next, and that it is one call and one charge.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { isSold } from "../gateway/src/operation/operation.ts";
import type { Exchanged, Upstream } from "../gateway/src/operation/upstream.ts";
import { chooseRoute } from "../gateway/src/routing/route.ts";
import {
  createUpstreamHealth,
  verdictOf,
  type UpstreamHealth,
} from "../gateway/src/routing/upstream-health.ts";
import { openFinancialDatasetsDouble } from "./doubles/financialdatasets.ts";
import { openOpenAiDouble } from "./doubles/openai.ts";
import type { ScriptedAnswer } from "./doubles/scripted-answer.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "./harness.ts";

const creditMicros = 2_000_000;
/** A port no system hands out, so that nobody can have taken it meanwhile. */
const nobodyListens = "http://127.0.0.1:9";
const snapshotPath = "/apis/v1/financial/financial-metrics/snapshot?ticker=AAPL";
const snapshotMicros = 48_000;
const chat = { model: "gpt-x", messages: [{ role: "user", content: "Say it!?" }], max_tokens: 100 };
const chatMicros = 8 * 2.5 + 2 * 10;

const openFinancial = () => openFinancialDatasetsDouble({ key: "fd-key-000000" });
const openModel = () =>
  openOpenAiDouble({
    key: "sk-key-000000",
    usage: { input: 8, output: 2 },
    reply: "The quick brown fox jumps over the lazy dog.",
  });

type Double = Awaited<ReturnType<typeof openFinancial>> | Awaited<ReturnType<typeof openModel>>;

interface Receipt {
  readonly status: string;
  readonly outcome: string;
  readonly charged_micros_usd: number;
  readonly attempts: readonly {
    readonly upstream: string;
    readonly outcome: string;
    readonly status: number | null;
    readonly started_at: string;
    readonly ended_at: string;
  }[];
}

let financial: { a: Awaited<ReturnType<typeof openFinancial>>; b: Awaited<ReturnType<typeof openFinancial>> };
let model: { a: Awaited<ReturnType<typeof openModel>>; b: Awaited<ReturnType<typeof openModel>> };
let gateway: TestGateway;
let deaf: TestGateway;

/** Time that passes only by these many milliseconds more than it does. */
let laterMs = 0;
const monotonicMs = (): number => performance.now() + laterMs;
const clock = { wallMs: () => Date.now(), monotonicMs };

/** Each test meets upstreams that nobody has met before. */
let current: UpstreamHealth;
const health: UpstreamHealth = {
  isResting: (name) => current.isResting(name),
  enter: (name) => current.enter(name),
  leave: (upstream, entry, verdict) => current.leave(upstream, entry, verdict),
  waitFor: (name) => current.waitFor(name),
};

let drawn: readonly number[] = [];
const random = (): number => {
  const [next = 0, ...rest] = drawn;
  drawn = rest;
  return next;
};

const upstream = (name: string, protocol: string, url: string, more = ""): string =>
  `  ${name}: { protocol: ${protocol}, url: "${url}", key: ${protocol === "openai" ? "sk" : "fd"}-key-000000, timeout_ms: 400${more} }`;

const price = "price: { input: 2.5, output: 10 }, max_output_tokens: 1000";
const twoOfEach = (firstFinancial: string, firstModel: string): string => `
upstreams:
${upstream("fd-b", "financialdatasets", financial.b.url)}
${upstream("fd-a", "financialdatasets", firstFinancial)}
${upstream("oa-b", "openai", model.b.url)}
${upstream("oa-a", "openai", firstModel)}
models: { gpt-x: { via: [oa-a, oa-b], ${price} } }
operations: { financial.metrics.snapshot: { via: [fd-a, fd-b] } }
`;

const open = (config: string): Promise<TestGateway> =>
  openTestGateway({ config, clock, parts: { health, random } });

beforeAll(async () => {
  financial = { a: await openFinancial(), b: await openFinancial() };
  model = { a: await openModel(), b: await openModel() };
  current = createUpstreamHealth(monotonicMs);
  gateway = await open(twoOfEach(financial.a.url, model.a.url));
  deaf = await open(twoOfEach(nobodyListens, nobodyListens));
});

beforeEach(() => {
  current = createUpstreamHealth(monotonicMs);
  drawn = [];
});

afterEach(async () => {
  for (const one of [gateway, deaf]) expect(await one.audit()).toEqual([]);
});

afterAll(async () => {
  const doubles: Double[] = [financial.a, financial.b, model.a, model.b];
  for (const double of doubles) expect(double.violations).toEqual([]);
  for (const one of [gateway, deaf]) {
    expect(await one.sandbox.book()).toEqual([]);
    await one.close();
  }
  await Promise.all(doubles.map((double) => double.close()));
});

const receiptOf = async (at: TestGateway, account: TestAccount, response: Response): Promise<Receipt> =>
  (await (await at.call(account, `/v1/requests/${response.headers.get("x-request-id")}`)).json()) as Receipt;

const snapshot = (account: TestAccount, at = gateway): Promise<Response> => at.call(account, snapshotPath);

interface Shape {
  readonly what: "GET of data" | "chat" | "chat stream";
  readonly names: readonly [string, string];
  readonly doubles: () => { readonly a: Double; readonly b: Double };
  readonly chargeMicros: number;
  readonly served: "answered" | "streaming";
  readonly send: (account: TestAccount, at: TestGateway) => Promise<Response>;
}

const shapes: readonly Shape[] = [
  {
    what: "GET of data",
    names: ["fd-a", "fd-b"],
    doubles: () => financial,
    chargeMicros: snapshotMicros,
    served: "answered",
    send: (account, at) => at.call(account, snapshotPath),
  },
  {
    what: "chat",
    names: ["oa-a", "oa-b"],
    doubles: () => model,
    chargeMicros: chatMicros,
    served: "answered",
    send: (account, at) => at.post(account, "/v1/chat/completions", chat),
  },
  {
    what: "chat stream",
    names: ["oa-a", "oa-b"],
    doubles: () => model,
    chargeMicros: chatMicros,
    served: "streaming",
    send: (account, at) => at.post(account, "/v1/chat/completions", { ...chat, stream: true }),
  },
];

interface First {
  readonly what: string;
  /** Undefined: nobody listens there. */
  readonly script: ScriptedAnswer | undefined;
  readonly outcome: string;
  readonly status?: number;
  /** Whether the second upstream is asked; if not, what the caller gets. */
  readonly next: "asked" | { readonly status: number; readonly outcome: "unknown" | "failed" };
}

const json = { "Content-Type": "application/json" };
const error = (status: number, headers: Readonly<Record<string, string>> = {}): ScriptedAnswer => ({
  status,
  headers: { ...json, ...headers },
  body: `{"error":{"message":"no ${status}"}}`,
});
const ourKeys = '{"error":{"message":"who is sk-key-000000 or fd-key-000000?"}}';
const inDoubt = { status: 502, outcome: "unknown" } as const;

const firsts: readonly First[] = [
  { what: "refuses the connection", script: undefined, outcome: "unreachable", next: "asked" },
  { what: "is busy", script: error(429), outcome: "rate_limited", status: 429, next: "asked" },
  {
    what: "is busy for 7 s",
    script: error(429, { "Retry-After": "7" }),
    outcome: "rate_limited",
    status: 429,
    next: "asked",
  },
  { what: "refuses our key", script: error(401), outcome: "key_rejected", status: 401, next: "asked" },
  { what: "wants money", script: error(402), outcome: "key_rejected", status: 402, next: "asked" },
  ...[500, 502, 503, 529].map((status): First => ({
    what: `answers ${status}`,
    script: error(status),
    outcome: "answered",
    status,
    next: "asked",
  })),
  {
    what: "answers 503 for 7 s",
    script: error(503, { "Retry-After": "7" }),
    outcome: "answered",
    status: 503,
    next: "asked",
  },
  ...[400, 404, 422, 501, 504].map((status): First => ({
    what: `answers ${status}`,
    script: error(status),
    outcome: "answered",
    status,
    next: { status, outcome: "failed" },
  })),
  { what: "says nothing in time", script: { kind: "hang" }, outcome: "timeout", next: inDoubt },
  {
    what: "works and says nothing in time",
    script: { kind: "hang", afterWork: true },
    outcome: "timeout",
    next: inDoubt,
  },
  { what: "resets before any byte", script: { kind: "reset" }, outcome: "cut_off", next: inDoubt },
  { what: "closes before any byte", script: { kind: "close" }, outcome: "cut_off", next: inDoubt },
  {
    what: "resets after some bytes",
    script: { kind: "reset", afterBytes: 20 },
    outcome: "cut_off",
    next: inDoubt,
  },
  // What repeats our key is withheld, but only a refusal says that nothing was done.
  ...[200, 500].map((status): First => ({
    what: `repeats our key with ${status}`,
    script: { status, headers: json, body: ourKeys },
    outcome: "malformed",
    next: { status: 502, outcome: "failed" },
  })),
  {
    what: "repeats our key with 404",
    script: { status: 404, headers: json, body: ourKeys },
    outcome: "key_rejected",
    status: 404,
    next: "asked",
  },
  {
    what: "sends no HTTP",
    script: { kind: "garbage" },
    outcome: "malformed",
    next: { status: 502, outcome: "failed" },
  },
  {
    what: "redirects",
    script: { kind: "redirect", status: 307, location: "http://127.0.0.1:9/" },
    outcome: "redirect",
    next: { status: 502, outcome: "failed" },
  },
];

describe("the second upstream is asked only if the first did nothing, or failed before any output", () => {
  const matrix = shapes.flatMap((shape) => firsts.map((first) => ({ shape, first })));
  test.each(matrix.map((row) => ({ ...row, name: `${row.shape.what}: the first ${row.first.what}` })))(
    "$name",
    async ({ shape, first }) => {
      const { a, b } = shape.doubles();
      const at = first.script ? gateway : deaf;
      const before = [a.requests.length, b.requests.length] as const;
      const account = await at.openAccount();
      if (first.script) a.answerNext(first.script);
      const response = await shape.send(account, at);
      const body = await response.text();
      expect(body).not.toContain("-key-000000");

      const asked = first.next === "asked";
      expect([a.requests.length - before[0], b.requests.length - before[1]]).toEqual([
        first.script ? 1 : 0,
        asked ? 1 : 0,
      ]);
      expect(response.status).toBe(first.next === "asked" ? 200 : first.next.status);
      if (asked && shape.served === "streaming") expect(body).toContain("[DONE]");

      const charged = asked ? shape.chargeMicros : 0;
      const receipt = await receiptOf(at, account, response);
      const tries = [
        { upstream: shape.names[0], outcome: first.outcome, status: first.status ?? null },
        ...(asked ? [{ upstream: shape.names[1], outcome: shape.served, status: 200 }] : []),
      ];
      expect(receipt).toMatchObject({
        status: asked ? "settled" : "released",
        outcome: first.next === "asked" ? "succeeded" : first.next.outcome,
        charged_micros_usd: charged,
        attempts: tries,
      });
      expect(receipt.attempts).toHaveLength(tries.length);
      for (const { started_at, ended_at } of receipt.attempts)
        expect(Date.parse(ended_at)).toBeGreaterThanOrEqual(Date.parse(started_at));
      expect(await at.balance(account)).toEqual({ balance: creditMicros - charged, held: 0 });
      // Both attempts are one call to the vendors too: they saw the same id.
      const ids = [...a.requests.slice(before[0]), ...b.requests.slice(before[1])].map(
        ({ headers }) => headers.find(([name]) => name.toLowerCase() === "x-request-id")?.[1],
      );
      expect(new Set(ids)).toEqual(new Set([response.headers.get("x-request-id") ?? ""]));
    },
  );

  test("a stream that breaks off is never begun again elsewhere: what passed is charged, once", async () => {
    for (const fault of ["reset", "close", "end", "error"] as const) {
      const before = [model.a.requests.length, model.b.requests.length] as const;
      const account = await gateway.openAccount();
      model.a.answerNext({ kind: "stream", afterEvents: 4, fault });
      const response = await gateway.post(account, "/v1/chat/completions", { ...chat, stream: true });
      expect(response.status).toBe(200);
      await response.text().catch(() => "");
      expect([model.a.requests.length, model.b.requests.length]).toEqual([before[0] + 1, before[1]]);
      const receipt = await receiptOf(gateway, account, response);
      expect(receipt.attempts).toMatchObject([{ upstream: "oa-a", outcome: "streaming", status: 200 }]);
      expect(await gateway.balance(account)).toEqual({
        balance: creditMicros - receipt.charged_micros_usd,
        held: 0,
      });
    }
  });

  test("a key the vendor refuses is the operator's to mend, so it is logged, without the key", async () => {
    const account = await gateway.openAccount();
    financial.a.answerNext(error(401));
    expect((await snapshot(account)).status).toBe(200);
    const line = gateway.logged.findLast((text) => text.includes("refused the operator's key"));
    expect(JSON.parse(line ?? "{}")).toMatchObject({ level: "error", upstream: "fd-a", status: 401 });
    expect(line).not.toContain("fd-key");
  });
});

describe("when both upstreams fail", () => {
  interface Pair {
    readonly first: ScriptedAnswer;
    readonly second: ScriptedAnswer;
    readonly status: number;
    readonly retryAfter?: string;
    readonly key: "freed" | "kept";
    readonly outcomes: readonly string[];
  }
  const busy = error(429, { "Retry-After": "9" });
  const pairs: readonly Pair[] = [
    {
      first: error(500),
      second: busy,
      status: 500,
      key: "kept",
      outcomes: ["answered", "rate_limited"],
    },
    {
      first: busy,
      second: error(500),
      status: 500,
      key: "kept",
      outcomes: ["rate_limited", "answered"],
    },
    {
      first: error(500),
      second: error(502),
      status: 502,
      key: "kept",
      outcomes: ["answered", "answered"],
    },
    {
      first: error(429, { "Retry-After": "3" }),
      second: busy,
      status: 429,
      retryAfter: "9",
      key: "freed",
      outcomes: ["rate_limited", "rate_limited"],
    },
    {
      first: busy,
      second: error(401),
      status: 429,
      retryAfter: "9",
      key: "freed",
      outcomes: ["rate_limited", "key_rejected"],
    },
    {
      first: error(401),
      second: error(403),
      status: 503,
      key: "freed",
      outcomes: ["key_rejected", "key_rejected"],
    },
    {
      first: busy,
      second: { kind: "reset" },
      status: 502,
      key: "kept",
      outcomes: ["rate_limited", "cut_off"],
    },
    {
      first: error(500),
      second: { kind: "hang" },
      status: 502,
      key: "kept",
      outcomes: ["answered", "timeout"],
    },
  ];
  test.each(pairs.map((pair) => ({ ...pair, name: `${pair.outcomes.join(", then ")}: ${pair.status}` })))(
    "$name, the idempotency key is $key",
    async ({ first, second, status, retryAfter, key, outcomes }) => {
      const account = await gateway.openAccount();
      const send = (): Promise<Response> =>
        gateway.post(account, "/v1/chat/completions", chat, { "idempotency-key": "one" });
      model.a.answerNext(first);
      model.b.answerNext(second);
      const response = await send();
      expect([response.status, response.headers.get("retry-after")]).toEqual([status, retryAfter ?? null]);
      const receipt = await receiptOf(gateway, account, response);
      expect(receipt).toMatchObject({ status: "released", charged_micros_usd: 0 });
      expect(receipt.attempts.map(({ outcome }) => outcome)).toEqual([...outcomes]);
      expect(await gateway.balance(account)).toEqual({ balance: creditMicros, held: 0 });

      current = createUpstreamHealth(monotonicMs);
      expect((await send()).status).toBe(key === "freed" ? 200 : 409);
      expect((await send()).status).toBe(409);
      const charged = key === "freed" ? chatMicros : 0;
      expect(await gateway.balance(account)).toEqual({ balance: creditMicros - charged, held: 0 });
    },
  );
});

test("no more than two upstreams are tried, however many there are", async () => {
  const third = await openFinancial();
  const three = await open(`
upstreams:
${upstream("one", "financialdatasets", financial.a.url)}
${upstream("two", "financialdatasets", financial.b.url)}
${upstream("three", "financialdatasets", third.url)}
operations: { financial.metrics.snapshot: { via: [one, two, three] } }
`);
  const account = await three.openAccount();
  financial.a.answerNext(error(500));
  financial.b.answerNext(error(503));
  expect((await snapshot(account, three)).status).toBe(503);
  expect(third.requests).toHaveLength(0);
  await three.close();
  await third.close();
});

test("an operation that must not happen twice goes to another upstream only if it never left", async () => {
  const writing = await openWriting(financial.a.url);
  const account = await writing.openAccount();
  const cases: readonly (readonly [ScriptedAnswer, number])[] = [
    [error(500), 500],
    [error(429), 429],
    [{ kind: "reset" }, 502],
  ];
  for (const [script, status] of cases) {
    current = createUpstreamHealth(monotonicMs);
    const before = financial.b.requests.length;
    financial.a.answerNext(script);
    expect((await snapshot(account, writing)).status).toBe(status);
    expect(financial.b.requests).toHaveLength(before);
  }
  await writing.close();

  const unsent = await openWriting(nobodyListens);
  expect((await snapshot(await unsent.openAccount(), unsent)).status).toBe(200);
  await unsent.close();
});

/** A gateway whose snapshot is declared a write. */
const openWriting = (first: string): Promise<TestGateway> =>
  openTestGateway({
    config: twoOfEach(first, model.a.url),
    clock,
    parts: { health },
    wrap: (parts) => ({
      ...parts,
      catalogue: {
        ...parts.catalogue,
        operations: parts.catalogue.operations.map((operation) =>
          isSold(operation) ? { ...operation, repeatable: false } : operation,
        ),
      },
    }),
  });

test("what one upstream cannot be told goes to one that can, and is a 400 only if none can", async () => {
  const config = (via: string): string => `
upstreams:
${upstream("gem", "gemini", nobodyListens)}
${upstream("oa", "openai", model.a.url)}
models: { gpt-x: { via: [${via}], ${price} } }
`;
  const tool = {
    type: "function",
    function: { name: "look", parameters: { type: "object", properties: {} } },
  };
  const body = { ...chat, tools: [tool], parallel_tool_calls: false };
  const both = await open(config("gem, oa"));
  const account = await both.openAccount();
  const response = await both.post(account, "/v1/chat/completions", body);
  expect(response.status).toBe(200);
  expect((await receiptOf(both, account, response)).attempts).toMatchObject([{ upstream: "oa" }]);
  await both.close();

  const one = await open(config("gem"));
  const other = await one.openAccount();
  const refused = await one.post(other, "/v1/chat/completions", body);
  expect([refused.status, (await refused.text()).includes("parallel_tool_calls")]).toEqual([400, true]);
  await one.close();
});

describe("who comes first", () => {
  const of = (name: string, weight: number): Upstream => ({
    name,
    weight,
    protocol: "openai",
    url: nobodyListens,
    key: "",
    transport: "native",
    timeoutMs: undefined,
    quotaRpm: undefined,
    pollQps: 10,
    onCallerLeft: "drain",
    sandbox: false,
  });
  const upstreams = [of("a", 1), of("b", 6), of("c", 3)];
  const names = (route: readonly Upstream[]): string => route.map(({ name }) => name).join("");
  const nobody = (): boolean => false;

  test("is whom `via` names first, whatever the weights", async () => {
    const always = (): number => 0.999;
    expect(names(chooseRoute({ upstreams, ordered: true }, nobody, always))).toBe("abc");
    expect(names(chooseRoute({ upstreams, ordered: true }, (name) => name === "a", always))).toBe("bca");
    const account = await gateway.openAccount();
    const before = financial.b.requests.length;
    for (let calls = 0; calls < 5; calls++) expect((await snapshot(account)).status).toBe(200);
    expect(financial.b.requests).toHaveLength(before);
  });

  test("is drawn by weight without `via`, and so is who comes next", () => {
    const chance = seeded(7);
    const first = new Map<string, number>();
    const behindB = new Map<string, number>();
    const draws = 20_000;
    for (let draw = 0; draw < draws; draw++) {
      const [one = "", two = ""] = names(chooseRoute({ upstreams, ordered: false }, nobody, chance));
      first.set(one, (first.get(one) ?? 0) + 1);
      if (one === "b") behindB.set(two, (behindB.get(two) ?? 0) + 1);
    }
    const share = (counts: ReadonlyMap<string, number>, name: string): number => {
      const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
      return (counts.get(name) ?? 0) / total;
    };
    for (const { name, weight } of upstreams) expect(share(first, name)).toBeCloseTo(weight / 10, 1);
    expect(Math.abs(share(first, "b") - 0.6)).toBeLessThan(0.015);
    expect(Math.abs(share(behindB, "c") - 0.75)).toBeLessThan(0.015);
  });

  test("is never somebody who rests, unless all do", () => {
    const chance = seeded(8);
    for (let draw = 0; draw < 100; draw++) {
      const route = names(chooseRoute({ upstreams, ordered: false }, (name) => name !== "c", chance));
      expect(route[0]).toBe("c");
      expect([...route].toSorted().join("")).toBe("abc");
    }
  });

  test("costs nothing to find out where there is one upstream", () => {
    const one = [of("a", 1)];
    const never = (): never => {
      throw new Error("nobody should ask");
    };
    expect(chooseRoute({ upstreams: one, ordered: false }, never, never)).toBe(one);
  });

  test("weights decide among real calls too", async () => {
    const weighed = await open(`
upstreams:
${upstream("light", "financialdatasets", financial.a.url, ", weight: 1")}
${upstream("heavy", "financialdatasets", financial.b.url, ", weight: 3")}
`);
    const account = await weighed.openAccount({ creditUsd: "50" });
    const before = [financial.a.requests.length, financial.b.requests.length] as const;
    const calls = 40;
    // Each call draws twice; the second draw is among one.
    drawn = Array.from({ length: calls }, (_, call) => [call / calls, 0]).flat();
    for (let call = 0; call < calls; call++) expect((await snapshot(account, weighed)).status).toBe(200);
    expect([financial.a.requests.length - before[0], financial.b.requests.length - before[1]]).toEqual([
      10, 30,
    ]);
    await weighed.close();
  });
});

describe("an upstream that fails again and again", () => {
  const rounds = async (account: TestAccount, count: number, at = gateway): Promise<number[]> => {
    const statuses: number[] = [];
    for (let call = 0; call < count; call++) statuses.push((await snapshot(account, at)).status);
    return statuses;
  };
  const asked = (): number[] => [financial.a.requests.length, financial.b.requests.length];
  const since = (before: readonly number[]): number[] =>
    asked().map((count, index) => count - (before[index] ?? 0));

  test("is left alone after five failures, tried once after the pause, and trusted again when that works", async () => {
    const account = await gateway.openAccount({ creditUsd: "50" });
    let before = asked();
    for (let fault = 0; fault < 5; fault++) financial.a.answerNext(error(500));
    expect(await rounds(account, 8)).toEqual(Array.from({ length: 8 }, () => 200));
    expect(since(before)).toEqual([5, 8]);

    // The pause is over: one trial, which fails, doubles it.
    laterMs += 5_000;
    before = asked();
    financial.a.answerNext(error(500));
    await rounds(account, 3);
    expect(since(before)).toEqual([1, 3]);
    laterMs += 9_000;
    before = asked();
    await rounds(account, 2);
    expect(since(before)).toEqual([0, 2]);

    laterMs += 1_000;
    before = asked();
    await rounds(account, 4);
    expect(since(before)).toEqual([4, 0]);
  });

  test("is forgiven by one answer, also a 404, in between", async () => {
    const account = await gateway.openAccount({ creditUsd: "50" });
    const before = asked();
    for (let fault = 0; fault < 4; fault++) financial.a.answerNext(error(500));
    financial.a.answerNext(error(404));
    for (let fault = 0; fault < 4; fault++) financial.a.answerNext(error(502));
    await rounds(account, 10);
    expect(since(before)).toEqual([10, 8]);
  });

  test("gets one trial at a time", async () => {
    const account = await gateway.openAccount({ creditUsd: "50" });
    for (let fault = 0; fault < 5; fault++) financial.a.answerNext(error(500));
    await rounds(account, 5);
    laterMs += 5_000;
    const before = asked();
    financial.a.answerNext({ kind: "slow", chunkBytes: 100, everyMs: 30 });
    const statuses = await Promise.all(Array.from({ length: 10 }, () => snapshot(account)));
    expect(statuses.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
    expect(since(before)).toEqual([1, 9]);
    await rounds(account, 2);
    expect(since(before)).toEqual([3, 9]);
  });

  test("is left alone for as long as its Retry-After says, at once, and never longer than a minute", async () => {
    const account = await gateway.openAccount({ creditUsd: "50" });
    for (const [answer, pauseMs] of [
      [error(429, { "Retry-After": "7" }), 7_000],
      [error(429), 1_000],
      [error(503, { "Retry-After": "20" }), 20_000],
      [error(429, { "Retry-After": "3600" }), 60_000],
    ] as const) {
      financial.a.answerNext(answer);
      let before = asked();
      await rounds(account, 3);
      expect(since(before)).toEqual([1, 3]);
      laterMs += pauseMs - 500;
      before = asked();
      await rounds(account, 1);
      expect(since(before)).toEqual([0, 1]);
      laterMs += 500;
      before = asked();
      await rounds(account, 2);
      expect(since(before)).toEqual([2, 0]);
    }
  });

  test("shows in the metrics while it is left alone", async () => {
    const account = await gateway.openAccount();
    const gauges = async (): Promise<string[]> =>
      (await (await fetch(`${gateway.url}/metrics`)).text())
        .split("\n")
        .filter((line) => line.startsWith('tollgate_upstream_paused{upstream="fd-'))
        .toSorted();
    const line = (name: string, value: number): string =>
      `tollgate_upstream_paused{upstream="${name}"} ${value}`;
    expect(await gauges()).toEqual([line("fd-a", 0), line("fd-b", 0)]);
    financial.a.answerNext(error(429, { "Retry-After": "7" }));
    await rounds(account, 1);
    expect(await gauges()).toEqual([line("fd-a", 1), line("fd-b", 0)]);
  });

  test("and is the only one is asked all the same: its own answer is worth more than a guess", async () => {
    const only = await open(`upstreams:\n${upstream("fd", "financialdatasets", financial.a.url)}`);
    const account = await only.openAccount({ creditUsd: "50" });
    for (let fault = 0; fault < 7; fault++) financial.a.answerNext(error(500));
    expect(await rounds(account, 8, only)).toEqual([...Array.from({ length: 7 }, () => 500), 200]);
    financial.a.answerNext(error(429, { "Retry-After": "7" }));
    const busy = await snapshot(account, only);
    expect([busy.status, busy.headers.get("retry-after")]).toEqual([429, "7"]);
    expect(await rounds(account, 1, only)).toEqual([200]);
    expect(await only.audit()).toEqual([]);
    await only.close();
  });

  /** Two upstreams that both ask to wait, so that there is nobody left to ask. */
  const bothSay = (status: number, headers: Record<string, string>): void => {
    for (const double of [financial.a, financial.b]) double.answerNext(error(status, headers));
  };
  const openBoth = (further = ""): Promise<TestGateway> =>
    open(`upstreams:
${upstream("fa", "financialdatasets", financial.a.url)}
${upstream("fb", "financialdatasets", financial.b.url)}
operations: { financial.metrics.snapshot: { via: [fa, fb] } }
${further}`);

  test("like all the others refuses calls before anything is held, with the time to come back", async () => {
    const both = await openBoth();
    const account = await both.openAccount({ creditUsd: "50" });
    bothSay(503, { "Retry-After": "30" });
    expect(await rounds(account, 1, both)).toEqual([503]);
    const before = asked();
    const refused = await snapshot(account, both);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "30"]);
    expect(await refused.json()).toEqual({
      error: {
        code: "provider_unavailable",
        message: "The provider cannot serve this call now; nothing was charged.",
        retryable: true,
        request_id: refused.headers.get("x-request-id"),
      },
    });
    const receipt = await both.call(account, `/v1/requests/${refused.headers.get("x-request-id")}`);
    expect(receipt.status).toBe(404);
    // A quote asks nobody, so nobody's failures refuse it.
    const quote = await both.call(account, snapshotPath, { headers: { "x-tollgate-cost-mode": "quote" } });
    expect(quote.status).toBe(200);
    expect(since(before)).toEqual([0, 0]);
    laterMs += 30_000;
    expect(await rounds(account, 2, both)).toEqual([200, 200]);
    expect(await both.audit()).toEqual([]);
    await both.close();
  });

  test("does not hide from a repeated request that it was made before", async () => {
    const only = await open(`upstreams:
${upstream("oa", "openai", model.a.url)}
${upstream("ob", "openai", model.b.url)}
models: { gpt-x: { via: [oa, ob], ${price} } }`);
    const account = await only.openAccount();
    const send = (key: string): Promise<Response> =>
      only.post(account, "/v1/chat/completions", chat, { "idempotency-key": key });
    expect((await send("one")).status).toBe(200);
    for (const double of [model.a, model.b]) double.answerNext(error(503, { "Retry-After": "30" }));
    expect((await send("two")).status).toBe(503);
    expect((await send("one")).status).toBe(409);
    expect((await send("three")).status).toBe(503);
    laterMs += 30_000;
    // Refused before it was held, so the key was never taken.
    expect((await send("three")).status).toBe(200);
    await only.close();
  });

  test("keeps its trial for another call when the one that had it could not pay", async () => {
    const only = await open(`upstreams:\n${upstream("fd", "financialdatasets", financial.a.url)}`);
    const [rich, poor] = [await only.openAccount(), await only.openAccount({ creditUsd: "0" })];
    financial.a.answerNext(error(503, { "Retry-After": "30" }));
    expect((await snapshot(rich, only)).status).toBe(503);
    laterMs += 30_000;
    expect((await snapshot(poor, only)).status).toBe(402);
    expect((await snapshot(rich, only)).status).toBe(200);
    await only.close();
  });

  test("keeps its trial for another call also when a limit of the caller's refused it", async () => {
    const only = await open(`
upstreams:
${upstream("oa", "openai", model.a.url)}
models: { gpt-x: { via: [oa], ${price} } }
tiers: { enterprise: { rpm: 100, tpm: 100, concurrency: 5 } }
`);
    const [small, large] = [await only.openAccount({ tier: "enterprise" }), await only.openAccount()];
    const send = async (account: TestAccount): Promise<number> =>
      (await only.post(account, "/v1/chat/completions", chat)).status;
    expect(await send(small)).toBe(200);
    model.a.answerNext(error(503, { "Retry-After": "5" }));
    expect(await send(large)).toBe(503);
    laterMs += 5_000;
    expect(await send(small)).toBe(429);
    expect(await send(large)).toBe(200);
    await only.close();
  });

  test("and is busy consumes nothing of a caller's own limits", async () => {
    const only = await openBoth("tiers: { enterprise: { rpm: 3, tpm: 100, concurrency: 5 } }");
    const account = await only.openAccount({ tier: "enterprise" });
    const codes: string[] = [];
    const send = async (): Promise<void> => {
      const response = await snapshot(account, only);
      const body = (await response.json()) as { error?: { code: string } };
      codes.push(body.error?.code ?? String(response.status));
    };
    bothSay(429, { "Retry-After": "7" });
    for (let call = 0; call < 5; call++) await send();
    laterMs += 7_000;
    for (let call = 0; call < 4; call++) await send();
    expect(codes).toEqual([
      ...Array.from({ length: 5 }, () => "upstream_rate_limit"),
      "200",
      "200",
      "200",
      "rate_limit_exceeded",
    ]);
    await only.close();
  });
});

describe("the breaker itself", () => {
  const one: Upstream = {
    name: "one",
    weight: 1,
    protocol: "openai",
    url: nobodyListens,
    key: "",
    transport: "native",
    timeoutMs: undefined,
    quotaRpm: undefined,
    pollQps: 10,
    onCallerLeft: "drain",
    sandbox: false,
  };
  const failed: Exchanged = { kind: "no_answer", reason: "timeout", sent: true };
  const meet = (nowMs: () => number, of = one) => {
    const breaker = createUpstreamHealth(nowMs);
    const attempt = (exchanged: Exchanged): string => {
      const entry = breaker.enter(of.name);
      if (entry !== "shut") breaker.leave(of, entry, verdictOf(exchanged));
      return entry;
    };
    return { breaker, attempt };
  };

  test("does not believe news from before the pause", () => {
    const { breaker, attempt } = meet(() => 0);
    const early = breaker.enter("one");
    for (let calls = 0; calls < 5; calls++) attempt(failed);
    expect(breaker.isResting("one")).toBe(true);
    breaker.leave(one, early, { kind: "works" });
    expect(breaker.isResting("one")).toBe(true);
    expect(breaker.waitFor("one")).toEqual({ retryInMs: 5_000, why: "failing" });
  });

  test("lets the next trial in when one never comes back", () => {
    let nowMs = 0;
    const { breaker, attempt } = meet(() => nowMs);
    for (let calls = 0; calls < 5; calls++) attempt(failed);
    nowMs = 5_000;
    expect([breaker.enter("one"), breaker.enter("one")]).toEqual(["trial", "shut"]);
    nowMs = 15_000;
    expect([breaker.enter("one"), breaker.enter("one")]).toEqual(["trial", "shut"]);
  });

  test("pauses ever longer, up to a minute", () => {
    let nowMs = 0;
    const { breaker, attempt } = meet(() => nowMs);
    for (let calls = 0; calls < 5; calls++) attempt(failed);
    const pauses: number[] = [];
    for (let trials = 0; trials < 6; trials++) {
      const { retryInMs } = breaker.waitFor("one");
      pauses.push(retryInMs);
      nowMs += retryInMs;
      expect(attempt(failed)).toBe("trial");
    }
    expect(pauses).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
  });

  test("takes a busy answer for a sign of life", () => {
    let nowMs = 0;
    const { breaker, attempt } = meet(() => nowMs);
    const busy: Exchanged = { kind: "rate_limited", status: 429, retryAfterSeconds: undefined };
    for (let calls = 0; calls < 5; calls++) attempt(failed);
    nowMs = 5_000;
    expect([attempt(busy), breaker.isResting("one"), breaker.enter("one")]).toEqual(["trial", true, "free"]);
    nowMs = 6_000;
    expect(breaker.isResting("one")).toBe(false);
    for (let calls = 0; calls < 4; calls++) attempt(failed);
    attempt(busy);
    for (let calls = 0; calls < 4; calls++) expect(attempt(failed)).toBe("free");
  });

  test("never shuts the sandbox", () => {
    const sandbox = { ...one, name: "sandbox-openai", sandbox: true };
    const { attempt } = meet(() => 0, sandbox);
    for (let calls = 0; calls < 20; calls++) expect(attempt(failed)).toBe("free");
  });
});

describe("the log", () => {
  interface Line {
    readonly level: string;
    readonly event: string;
    readonly upstream?: string;
    readonly because?: string;
  }
  const failing = "an upstream keeps failing; it rests while there are others";
  const waiting = "an upstream asks to wait; it rests while there are others";
  const well = "an upstream works again";

  const openOne = (url: string): Promise<TestGateway> =>
    open(`upstreams:\n${upstream("fd-a", "financialdatasets", url)}`);
  const toldBy = ({ logged }: TestGateway): object[] =>
    logged
      .map((line) => JSON.parse(line) as Line)
      .filter(({ level }) => level === "warn")
      .map(({ event, upstream: name, because }) => [event, name, because]);
  const failTimes = async (times: number, account: TestAccount, at: TestGateway): Promise<void> => {
    for (let calls = 0; calls < times; calls++) {
      financial.a.answerNext(error(500));
      await snapshot(account, at);
    }
  };

  test("says once that an upstream keeps failing and why, and once that it works again", async () => {
    const both = await open(twoOfEach(financial.a.url, model.a.url));
    const account = await both.openAccount({ creditUsd: "50" });
    await failTimes(4, account, both);
    expect(toldBy(both)).toEqual([]);
    await failTimes(1, account, both);
    const told = [[failing, "fd-a", "status 500"]];
    expect(toldBy(both)).toEqual(told);
    for (const pauseMs of [5_000, 10_000]) {
      for (let calls = 0; calls < 3; calls++) expect((await snapshot(account, both)).status).toBe(200);
      laterMs += pauseMs;
      await failTimes(1, account, both);
    }
    expect(toldBy(both)).toEqual(told);
    laterMs += 20_000;
    for (let calls = 0; calls < 3; calls++) expect((await snapshot(account, both)).status).toBe(200);
    expect(toldBy(both)).toEqual([...told, [well, "fd-a", undefined]]);
    expect(both.logged.join("")).not.toContain("fd-key-000000");
    await both.close();
  });

  test("says so of an upstream that is the only one too, each time", async () => {
    const only = await openOne(financial.a.url);
    const account = await only.openAccount({ creditUsd: "50" });
    const told: object[] = [];
    for (let times = 0; times < 2; times++) {
      await failTimes(10, account, only);
      told.push([failing, "fd-a", "status 500"]);
      expect(toldBy(only)).toEqual(told);
      // An answer right after may be that of a call from before.
      expect((await snapshot(account, only)).status).toBe(200);
      expect(toldBy(only)).toEqual(told);
      laterMs += 5_000;
      for (let calls = 0; calls < 3; calls++) expect((await snapshot(account, only)).status).toBe(200);
      told.push([well, "fd-a", undefined]);
      expect(toldBy(only)).toEqual(told);
    }
    await only.close();
  });

  test("names what kept an upstream from answering", async () => {
    const only = await openOne(nobodyListens);
    const account = await only.openAccount({ creditUsd: "50" });
    for (let calls = 0; calls < 7; calls++) await snapshot(account, only);
    expect(toldBy(only)).toEqual([[failing, "fd-a", "unreachable"]]);
    await only.close();
  });

  test("is not filled by a vendor that asks for a moment now and then, and tells when that lasts", async () => {
    const only = await openOne(financial.a.url);
    const account = await only.openAccount({ creditUsd: "50" });
    const askToWait = async (): Promise<void> => {
      financial.a.answerNext(error(429, { "Retry-After": "1" }));
      expect((await snapshot(account, only)).status).toBe(429);
      laterMs += 1_000;
    };
    for (let times = 0; times < 10; times++) {
      await askToWait();
      expect((await snapshot(account, only)).status).toBe(200);
    }
    expect(toldBy(only)).toEqual([]);
    for (let times = 0; times < 10; times++) await askToWait();
    expect(toldBy(only)).toEqual([[waiting, "fd-a", "rate_limited"]]);
    await only.close();
  });
});

describe("an upstream's quota", () => {
  const quotas = (a: number, b: number): string => `
upstreams:
${upstream("fd-a", "financialdatasets", financial.a.url, `, quota_rpm: ${a}`)}
${upstream("fd-b", "financialdatasets", financial.b.url, `, quota_rpm: ${b}`)}
operations: { financial.metrics.snapshot: { via: [fd-a, fd-b] } }
`;

  test("spills over to the next one, and the call is refused only when all are used up", async () => {
    const shared = await open(quotas(2, 3));
    const before = [financial.a.requests.length, financial.b.requests.length] as const;
    const accounts = [await shared.openAccount(), await shared.openAccount()];
    const statuses: number[] = [];
    for (let call = 0; call < 7; call++) {
      const account = accounts[call % 2];
      if (account) statuses.push((await snapshot(account, shared)).status);
    }
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429]);
    expect([financial.a.requests.length - before[0], financial.b.requests.length - before[1]]).toEqual([
      2, 3,
    ]);
    expect(await shared.audit()).toEqual([]);
    await shared.close();
  });

  test("counts every upstream that was asked, and only those", async () => {
    const shared = await open(quotas(3, 1));
    const account = await shared.openAccount();
    const poor = await shared.openAccount({ creditUsd: "0" });
    // Refused for want of money: nobody was asked.
    expect((await snapshot(poor, shared)).status).toBe(402);
    financial.a.answerNext(error(500));
    expect((await snapshot(account, shared)).status).toBe(200);
    // The second's quota is used up, so the first one's error is what the caller gets.
    financial.a.answerNext(error(500));
    expect((await snapshot(account, shared)).status).toBe(500);
    expect((await snapshot(account, shared)).status).toBe(200);
    const refused = await snapshot(account, shared);
    expect(await refused.json()).toMatchObject({ error: { code: "upstream_rate_limit" } });
    await shared.close();
  });

  test("is not used by a call that could not even be sent", async () => {
    const unreachable = await open(`
upstreams:
${upstream("fd-a", "financialdatasets", nobodyListens, ", quota_rpm: 2")}
${upstream("fd-b", "financialdatasets", financial.b.url)}
operations: { financial.metrics.snapshot: { via: [fd-a, fd-b] } }
`);
    const account = await unreachable.openAccount({ creditUsd: "50" });
    for (let call = 0; call < 4; call++) {
      const response = await snapshot(account, unreachable);
      expect((await receiptOf(unreachable, account, response)).attempts).toHaveLength(2);
    }
    await unreachable.close();
  });
});

test("the sandbox never stands in for a real upstream, and its own faults go to nobody else", async () => {
  const account = await deaf.openAccount();
  const response = await deaf.post(account, "/v1/rerank", { query: "a", documents: ["b"] });
  expect([response.status, response.headers.get("x-tollgate-upstream")]).toEqual([200, "sandbox"]);
  const real = await snapshot(account, deaf);
  expect([real.status, real.headers.get("x-tollgate-upstream")]).toEqual([200, null]);

  await deaf.sandbox.fault({ vendor: "jina", status: 500 });
  const failed = await deaf.post(account, "/v1/rerank", { query: "a", documents: ["b"] });
  expect(failed.status).toBe(500);
  expect((await receiptOf(deaf, account, failed)).attempts).toHaveLength(1);
  await deaf.sandbox.clear();

  // A model of nobody's in particular, which the sandbox could serve in each of its protocols.
  const played = await open(`models: { any-x: { ${price} } }`);
  const other = await played.openAccount();
  await played.sandbox.fault({ vendor: "openai", status: 500 });
  const broken = await played.post(other, "/v1/chat/completions", { ...chat, model: "any-x" });
  expect([broken.status, (await receiptOf(played, other, broken)).attempts.length]).toEqual([500, 1]);
  await played.close();
});

/** Mulberry32: small, and the same everywhere. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
