// Several upstreams for one operation: who is asked, who is asked next, and that it is one call and one charge.

import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { isSold } from "../../gateway/src/operation/operation.ts";
import { headerValues } from "../doubles/http-wire.ts";
import type { ScriptedAnswer } from "../doubles/scripted-answer.ts";
import { chat } from "../support/purchases.ts";
import {
  creditMicros,
  openTestGateway,
  type TestAccount,
  type TestGateway,
} from "../support/test-gateway.ts";
import { until } from "../support/until.ts";
import { useRoutedCalls } from "./routed-calls.ts";
import { error, json, nobodyListens, openFinancial, price, callSnapshot, upstream } from "./two-upstreams.ts";

const { financial, model, clock, health, open, twoOfEach, draw, meetAnew, gateway, shapes } =
  await useRoutedCalls();

/** Where nobody listens at either first upstream. */
const deaf = await open(twoOfEach(nobodyListens, nobodyListens));
/** For upstreams that never answer: nobody at work is asked by it, so it need not be patient. */
const hasty = await open(
  twoOfEach(financial.a.url, model.a.url).replaceAll("timeout_ms: 2000", "timeout_ms: 500"),
);
afterEach(async () => {
  for (const at of [deaf, hasty]) expect(await at.audit()).toEqual([]);
});
afterAll(async () => {
  for (const at of [deaf, hasty]) {
    expect(await at.sandbox.book()).toEqual([]);
    await at.close();
  }
});

interface First {
  readonly what: string;
  /** Undefined: nobody listens there. */
  readonly script: ScriptedAnswer | undefined;
  readonly outcome: string;
  readonly status?: number;
  /** Whether the second upstream is asked; if not, what the caller gets. */
  readonly next: "asked" | NotAsked;
  /** The same for a call that names a model, where it is not the same. */
  readonly nextOfModels?: "asked";
}

interface NotAsked {
  readonly status: number;
  readonly outcome: "unknown" | "failed";
}

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
  // By which status stays with the operator.
  { what: "refuses our key", script: error(401), outcome: "key_rejected", next: "asked" },
  { what: "wants money", script: error(402), outcome: "key_rejected", next: "asked" },
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
  // It has no such model, or is another server than it should be. Of data it is an answer: there is no such thing.
  {
    what: "answers 404",
    script: error(404),
    outcome: "answered",
    status: 404,
    next: { status: 404, outcome: "failed" },
    nextOfModels: "asked",
  },
  ...[400, 422, 501, 504].map((status): First => ({
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
      const at = !first.script ? deaf : first.outcome === "timeout" ? hasty : gateway;
      const before = [a.requests.length, b.requests.length] as const;
      const account = await at.openAccount();
      if (first.script) a.answerNext(first.script);
      const response = await shape.send(account, at);
      const body = await response.text();
      expect(body).not.toContain("-key-000000");

      const next = (shape.doubles() === model ? first.nextOfModels : undefined) ?? first.next;
      const asked = next === "asked";
      expect([a.requests.length - before[0], b.requests.length - before[1]]).toEqual([
        first.script ? 1 : 0,
        asked ? 1 : 0,
      ]);
      expect(response.status).toBe(next === "asked" ? 200 : next.status);
      if (asked && shape.served === "streaming") expect(body).toContain("[DONE]");

      const charged = asked ? shape.chargeMicros : 0;
      const receipt = await at.receipt(account, response);
      const tries = [
        { upstream: shape.names[0], outcome: first.outcome, status: first.status ?? null },
        ...(asked ? [{ upstream: shape.names[1], outcome: shape.served, status: 200 }] : []),
      ];
      expect(receipt).toMatchObject({
        status: asked ? "settled" : "released",
        outcome: next === "asked" ? "succeeded" : next.outcome,
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
      const receipt = await gateway.receipt(account, response);
      const outcome = fault === "error" ? "gave_up" : "broke_off";
      expect(receipt.attempts).toMatchObject([{ upstream: "oa-a", outcome, status: 200 }]);
      expect(await gateway.balance(account)).toEqual({
        balance: creditMicros - receipt.charged_micros_usd,
        held: 0,
      });
    }
  });

  test("a 403 about what the caller wrote is the caller's: passed on, asked of nobody else, no alarm, no charge", async () => {
    const flagged = { reasons: ["violence"], flagged_input: "hi", provider_name: "x" };
    for (const about of [
      { code: 403, message: "Your input was flagged", metadata: flagged },
      { code: "content_policy_violation", type: "invalid_request_error", message: "Your input was flagged" },
    ]) {
      for (const path of ["/v1/chat/completions", "/v1/messages"]) {
        const [before, lines] = [model.b.requests.length, gateway.logged.length];
        const account = await gateway.openAccount();
        model.a.answerNext({ status: 403, headers: json, body: JSON.stringify({ error: about }) });
        const response = await gateway.post(account, path, chat);
        expect([response.status, await response.json()]).toMatchObject([
          403,
          { error: { message: "Your input was flagged" } },
        ]);
        expect(model.b.requests).toHaveLength(before);
        expect(gateway.logged.slice(lines).join("")).not.toContain("refused the operator's key");
        expect(await gateway.receipt(account, response)).toMatchObject({
          outcome: "failed",
          charged_micros_usd: 0,
          attempts: [{ upstream: "oa-a", outcome: "answered", status: 403 }],
        });
      }
    }
  });

  test("a 402 about one large call is withheld and asked elsewhere, and its upstream serves smaller ones at once", async () => {
    const account = await gateway.openAccount({ creditUsd: "50" });
    const send = (): Promise<Response> => gateway.post(account, "/v1/chat/completions", chat);
    const says = (message: string): ScriptedAnswer => ({
      status: 402,
      headers: json,
      body: JSON.stringify({ error: { code: 402, message } }),
    });
    for (const message of [
      "This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens, but can only afford 3000.",
      "Prompt tokens limit exceeded: 230799 > 91442.",
    ]) {
      const [before, lines] = [model.a.requests.length, gateway.logged.length];
      for (const double of [model.a, model.b]) double.answerNext(says(message));
      const refused = await send();
      expect([refused.status, refused.headers.get("x-should-retry")]).toEqual([503, "false"]);
      expect(await refused.text()).not.toContain("tokens");
      for (let calls = 0; calls < 3; calls++) expect((await send()).status).toBe(200);
      expect(model.a.requests).toHaveLength(before + 4);
      const log = gateway.logged.slice(lines).join("");
      expect(log).toContain("too little credit for so large a call");
      expect(log).not.toContain("out of credit");
    }
    // Where nothing can be afforded, nothing is small enough.
    model.a.answerNext(
      says("This request requires more credits, or fewer max_tokens, but can only afford 0."),
    );
    const before = model.a.requests.length;
    for (let calls = 0; calls < 2; calls++) expect((await send()).status).toBe(200);
    expect(model.a.requests).toHaveLength(before + 1);
  });

  test("a key the vendor refuses is the operator's to mend, so it is logged, without the key", async () => {
    const account = await gateway.openAccount();
    financial.a.answerNext(error(401));
    expect((await callSnapshot(account, gateway)).status).toBe(200);
    const line = gateway.logged.findLast((text) => text.includes("refused the operator's key"));
    expect(JSON.parse(line ?? "{}")).toMatchObject({ level: "error", upstream: "fd-a", status: 401 });
    expect(line).not.toContain("fd-key");
  });
});

describe("the receipt of a call that runs tells what was tried for it so far", () => {
  const newestOf = async (account: TestAccount): Promise<object | undefined> => {
    const list = (await (await gateway.call(account, "/v1/requests?limit=1")).json()) as { data: object[] };
    return list.data[0];
  };
  const triesOf = async (account: TestAccount): Promise<number> =>
    ((await newestOf(account)) as { attempts: object[] } | undefined)?.attempts.length ?? 0;
  const failed = { upstream: "oa-a", outcome: "answered", status: 500 };

  test("when the second upstream is asked, and only to its own account", async () => {
    const account = await gateway.openAccount();
    model.a.answerNext(error(500));
    model.b.answerNext({ kind: "slow", chunkBytes: 50, everyMs: 100 });
    const asking = gateway.post(account, "/v1/chat/completions", chat);
    await until(async () => (await triesOf(account)) > 0);
    expect(await newestOf(account)).toMatchObject({ settled_at: null, attempts: [failed] });
    expect(await newestOf(await gateway.openAccount())).toBeUndefined();
    const response = await asking;
    expect(response.status).toBe(200);
    const { attempts } = await gateway.receipt(account, response);
    expect(attempts).toMatchObject([failed, { upstream: "oa-b", outcome: "answered", status: 200 }]);
  });

  test("when a stream lasts", async () => {
    const account = await gateway.openAccount();
    model.a.answerNext(error(500));
    model.b.answerNext({ kind: "stream", everyMs: 300 });
    const response = await gateway.post(account, "/v1/chat/completions", { ...chat, stream: true });
    const streamed = [failed, { upstream: "oa-b", outcome: "streaming", status: 200 }];
    await until(async () => (await triesOf(account)) > 0);
    expect(await gateway.receipt(account, response)).toMatchObject({
      settled_at: null,
      attempts: streamed,
    });
    await response.text();
    expect(await gateway.receipt(account, response)).toMatchObject({
      status: "settled",
      attempts: streamed,
    });
  });
});

test("no more than two upstreams may fail a call, however many there are", async () => {
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
  const response = await callSnapshot(account, three);
  expect(response.status).toBe(503);
  // Another test's callers may still ask for whoever had this port before; this call has an id of its own.
  const id = response.headers.get("x-request-id") ?? "";
  const hasId = (double: typeof third): boolean =>
    double.requests.some((request) => headerValues(request.headers, "x-request-id").includes(id));
  expect([financial.a, financial.b, third].map(hasId)).toEqual([true, true, false]);
  await three.close();
  await third.close();
});

test.each([401, 402, 403])(
  "upstreams that certainly did nothing keep nobody from the next: none listens, then %d",
  async (status) => {
    const three = await open(`
upstreams:
${upstream("one", "openai", nobodyListens)}
${upstream("two", "openai", model.a.url)}
${upstream("three", "openai", model.b.url)}
models: { gpt-x: { via: [one, two, three], ${price} } }
`);
    const account = await three.openAccount();
    model.a.answerNext(error(status));
    const response = await three.post(account, "/v1/chat/completions", chat);
    expect(response.status).toBe(200);
    expect((await three.receipt(account, response)).attempts).toMatchObject([
      { upstream: "one", outcome: "unreachable" },
      { upstream: "two", outcome: "key_rejected" },
      { upstream: "three", outcome: "answered" },
    ]);
    await three.close();
  },
);

test("an operation that must not happen twice goes to another upstream only if it never left", async () => {
  const writing = await openWriting(financial.a.url);
  const account = await writing.openAccount();
  const cases: readonly (readonly [ScriptedAnswer, number])[] = [
    [error(500), 500],
    [error(429), 429],
    [{ kind: "reset" }, 502],
  ];
  for (const [script, status] of cases) {
    meetAnew();
    const before = financial.b.requests.length;
    financial.a.answerNext(script);
    expect((await callSnapshot(account, writing)).status).toBe(status);
    expect(financial.b.requests).toHaveLength(before);
  }
  await writing.close();

  const unsent = await openWriting(nobodyListens);
  expect((await callSnapshot(await unsent.openAccount(), unsent)).status).toBe(200);
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
  expect((await both.receipt(account, response)).attempts).toMatchObject([{ upstream: "oa" }]);
  await both.close();

  const one = await open(config("gem"));
  const other = await one.openAccount();
  const refused = await one.post(other, "/v1/chat/completions", body);
  expect([refused.status, (await refused.text()).includes("parallel_tool_calls")]).toEqual([400, true]);
  await one.close();
});

describe("who comes first", () => {
  test("is whom `via` names first, call after call", async () => {
    const account = await gateway.openAccount();
    const before = financial.b.requests.length;
    for (let calls = 0; calls < 5; calls++) expect((await callSnapshot(account, gateway)).status).toBe(200);
    expect(financial.b.requests).toHaveLength(before);
  });

  test("is drawn by weight without it", async () => {
    const weighed = await open(`
upstreams:
${upstream("light", "financialdatasets", financial.a.url, ", weight: 1")}
${upstream("heavy", "financialdatasets", financial.b.url, ", weight: 3")}
`);
    const account = await weighed.openAccount({ creditUsd: "50" });
    const before = [financial.a.requests.length, financial.b.requests.length] as const;
    const calls = 40;
    // Each call draws twice; the second draw is among one.
    draw(Array.from({ length: calls }, (_, call) => [call / calls, 0]).flat());
    for (let call = 0; call < calls; call++) expect((await callSnapshot(account, weighed)).status).toBe(200);
    expect([financial.a.requests.length - before[0], financial.b.requests.length - before[1]]).toEqual([
      10, 30,
    ]);
    await weighed.close();
  });
});

test("the sandbox never stands in for a real upstream, and its own faults go to nobody else", async () => {
  const account = await deaf.openAccount();
  const response = await deaf.post(account, "/v1/rerank", { query: "a", documents: ["b"] });
  expect([response.status, response.headers.get("x-tollgate-upstream")]).toEqual([200, "sandbox"]);
  const real = await callSnapshot(account, deaf);
  expect([real.status, real.headers.get("x-tollgate-upstream")]).toEqual([200, null]);

  await deaf.sandbox.fault({ vendor: "jina", status: 500 });
  const failed = await deaf.post(account, "/v1/rerank", { query: "a", documents: ["b"] });
  expect(failed.status).toBe(500);
  expect((await deaf.receipt(account, failed)).attempts).toHaveLength(1);
  await deaf.sandbox.clear();

  // A model of nobody's in particular, which the sandbox could serve in each of its protocols.
  const played = await open(`models: { any-x: { ${price} } }`);
  const other = await played.openAccount();
  await played.sandbox.fault({ vendor: "openai", status: 500 });
  const broken = await played.post(other, "/v1/chat/completions", { ...chat, model: "any-x" });
  expect([broken.status, (await played.receipt(other, broken)).attempts.length]).toEqual([500, 1]);
  await played.close();
});
