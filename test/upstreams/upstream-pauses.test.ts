// An upstream that fails, or asks to wait, is left alone for a while: how long, and what calls meet meanwhile.

import { afterAll, afterEach, beforeEach, describe, expect, test } from "bun:test";
import { openImpatientVendor } from "../doubles/impatient-vendor.ts";
import { openStreamCaller } from "../streams/stream-caller.ts";
import { chat, snapshotPath } from "../support/purchases.ts";
import type { TestAccount, TestGateway } from "../support/test-gateway.ts";
import { until } from "../support/until.ts";
import { error, openTwoUpstreams, price, callSnapshot, upstream } from "./two-upstreams.ts";

const { financial, model, open, twoOfEach, later, meetAnew, close } = await openTwoUpstreams();
const gateway = await open(twoOfEach(financial.a.url, model.a.url));

beforeEach(meetAnew);

afterEach(async () => {
  expect(await gateway.audit()).toEqual([]);
});

afterAll(async () => {
  expect(await gateway.sandbox.book()).toEqual([]);
  await gateway.close();
  await close();
});

describe("an upstream that fails again and again", () => {
  const rounds = async (account: TestAccount, count: number, at = gateway): Promise<number[]> => {
    const statuses: number[] = [];
    for (let call = 0; call < count; call++) statuses.push((await callSnapshot(account, at)).status);
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
    later(5_000);
    before = asked();
    financial.a.answerNext(error(500));
    await rounds(account, 3);
    expect(since(before)).toEqual([1, 3]);
    later(9_000);
    before = asked();
    await rounds(account, 2);
    expect(since(before)).toEqual([0, 2]);

    later(1_000);
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

  test("counts as failing when it answers calls for models with pages, or errors that claim success", async () => {
    const account = await gateway.openAccount({ creditUsd: "50" });
    const askedModels = (): number[] => [model.a.requests.length, model.b.requests.length];
    for (const [type, body, passed] of [
      ["text/html", "<h1>No such page</h1>", 5],
      ["application/json", '{"error":{"code":503,"message":"no"}}', 0],
    ] as const) {
      meetAnew();
      const before = askedModels();
      for (let fault = 0; fault < 5; fault++)
        model.a.answerNext({ status: 200, headers: { "content-type": type }, body });
      const types: (string | null)[] = [];
      for (let call = 0; call < 7; call++) {
        const response = await gateway.post(account, "/v1/chat/completions", chat);
        types.push(response.headers.get("content-type"));
        if (type === "text/html" && call < 5) expect(await response.text()).toBe(body);
      }
      // Nobody can tell what was done behind a page, so that is asked of nobody else.
      expect(types.filter((each) => each === "text/html")).toHaveLength(passed);
      expect(askedModels().map((count, index) => count - (before[index] ?? 0))).toEqual([5, 7 - passed]);
    }
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    expect(metrics).toContain('tollgate_upstream_attempts_total{upstream="oa-a",outcome="malformed"} 5');
  });

  describe("by breaking off the streams that it begins", () => {
    const stream = async (account: TestAccount): Promise<string> =>
      (await gateway.post(account, "/v1/chat/completions", { ...chat, stream: true })).text();
    const askedModels = (): number[] => [model.a.requests.length, model.b.requests.length];
    const sinceModels = (before: readonly number[]): number[] =>
      askedModels().map((count, index) => count - (before[index] ?? 0));
    const attempts = async (outcome: string): Promise<number> => {
      const text = await (await fetch(`${gateway.url}/metrics`)).text();
      const line = `tollgate_upstream_attempts_total{upstream="oa-a",outcome="${outcome}"} `;
      return Number(
        text
          .split("\n")
          .find((each) => each.startsWith(line))
          ?.slice(line.length) ?? 0,
      );
    };

    test.each(["reset", "close", "end"] as const)(
      "is left alone, tried once, and trusted again: %s",
      async (fault) => {
        const account = await gateway.openAccount({ creditUsd: "50" });
        const counted = await attempts("broke_off");
        let before = askedModels();
        for (let times = 0; times < 5; times++) model.a.answerNext({ kind: "stream", afterEvents: 4, fault });
        for (let calls = 0; calls < 5; calls++) expect(await stream(account)).toContain("broke off");
        for (let calls = 0; calls < 3; calls++) expect(await stream(account)).toContain("[DONE]");
        expect(sinceModels(before)).toEqual([5, 3]);
        expect(await attempts("broke_off")).toBe(counted + 5);

        later(5_000);
        before = askedModels();
        model.a.answerNext({ kind: "stream", afterEvents: 4, fault });
        expect(await stream(account)).toContain("broke off");
        for (let calls = 0; calls < 2; calls++) expect(await stream(account)).toContain("[DONE]");
        expect(sinceModels(before)).toEqual([1, 2]);

        later(10_000);
        before = askedModels();
        const whole = await attempts("streaming");
        for (let calls = 0; calls < 3; calls++) expect(await stream(account)).toContain("[DONE]");
        expect(sinceModels(before)).toEqual([3, 0]);
        expect(await attempts("streaming")).toBe(whole + 3);
      },
    );

    test("is forgiven by one that is whole, and not by the head of one", async () => {
      const account = await gateway.openAccount({ creditUsd: "50" });
      const before = askedModels();
      const breakOff = (times: number): void => {
        for (let each = 0; each < times; each++)
          model.a.answerNext({ kind: "stream", afterEvents: 4, fault: "reset" });
      };
      breakOff(4);
      model.a.answerNext({ kind: "stream" });
      breakOff(4);
      model.a.answerNext({ kind: "stream", afterEvents: 4, fault: "error" });
      breakOff(1);
      for (let calls = 0; calls < 12; calls++) await stream(account);
      expect(sinceModels(before)).toEqual([11, 1]);
      expect(await attempts("gave_up")).toBe(1);
    });

    test("no longer keeps others waiting once a stream has begun after the pause", async () => {
      const account = await gateway.openAccount({ creditUsd: "50" });
      for (let times = 0; times < 5; times++)
        for (const double of [model.a, model.b]) double.answerNext(error(500));
      for (let calls = 0; calls < 5; calls++) await stream(account);
      later(5_000);
      const before = askedModels();
      model.a.answerNext({ kind: "stream", everyMs: 100 });
      const first = await gateway.post(account, "/v1/chat/completions", { ...chat, stream: true });
      const meanwhile = await Promise.all(Array.from({ length: 4 }, () => stream(account)));
      for (const text of meanwhile) expect(text).toContain("[DONE]");
      expect(sinceModels(before)).toEqual([5, 0]);
      expect(await first.text()).toContain("[DONE]");
    });

    test("is not what a vendor does that cuts off callers who stop reading, and receipts say so", async () => {
      const vendor = await openImpatientVendor();
      const patient = await open(
        twoOfEach(financial.a.url, vendor.url).replaceAll("timeout_ms: 2000", "timeout_ms: 20000"),
      );
      const account = await patient.openAccount({ creditUsd: "5000", tier: "enterprise" });
      const request = { account, path: "/v1/chat/completions", body: { ...chat, stream: true } };
      const callers = Array.from({ length: 5 }, () => openStreamCaller(patient.port, request));
      for (const caller of callers)
        caller
          .untilFrames(1)
          .then(caller.pause)
          .catch(() => undefined);
      await until(() => vendor.cuts() === callers.length);
      await Bun.sleep(200);
      for (const caller of callers) {
        caller.resume();
        await caller.ended;
        expect(caller.frames().some((frame) => frame.includes("broke off"))).toBe(true);
        const id = /^x-request-id: (.+)$/im.exec(caller.head())?.[1]?.trim() ?? "";
        const receipt = await (await patient.call(account, `/v1/requests/${id}`)).text();
        expect(JSON.parse(receipt)).toMatchObject({
          attempts: [{ upstream: "oa-a", outcome: "caller_stalled" }],
        });
        expect(receipt).toContain("the caller had stopped reading");
      }
      expect(patient.logged.join("")).not.toContain("keeps failing");
      const metrics = await (await fetch(`${patient.url}/metrics`)).text();
      expect(metrics).toContain('tollgate_upstream_paused{upstream="oa-a"} 0');
      expect(metrics).not.toContain('{upstream="oa-a",outcome="broke_off"}');
      await patient.close();
      await vendor.close();
    }, 30_000);

    test("is not what an upstream does whose callers leave", async () => {
      const account = await gateway.openAccount({ creditUsd: "50" });
      const before = askedModels();
      const broken = await attempts("broke_off");
      for (let calls = 0; calls < 6; calls++) {
        model.a.answerNext({ kind: "stream", afterEvents: 6, everyMs: 20, fault: "reset" });
        const leaving = new AbortController();
        const response = await gateway.call(account, "/v1/chat/completions", {
          method: "POST",
          body: JSON.stringify({ ...chat, stream: true }),
          headers: { "content-type": "application/json" },
          signal: leaving.signal,
        });
        await response.body?.getReader().read();
        leaving.abort();
        await until(async () => (await gateway.balance(account)).held === 0);
      }
      expect(sinceModels(before)).toEqual([6, 0]);
      expect(await attempts("broke_off")).toBe(broken);
    });
  });

  test("gets one trial at a time", async () => {
    const account = await gateway.openAccount({ creditUsd: "50" });
    for (let fault = 0; fault < 5; fault++) financial.a.answerNext(error(500));
    await rounds(account, 5);
    later(5_000);
    const before = asked();
    financial.a.answerNext({ kind: "slow", chunkBytes: 100, everyMs: 30 });
    const statuses = await Promise.all(Array.from({ length: 10 }, () => callSnapshot(account, gateway)));
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
      later(pauseMs - 500);
      before = asked();
      await rounds(account, 1);
      expect(since(before)).toEqual([0, 1]);
      later(500);
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
    const busy = await callSnapshot(account, only);
    expect([busy.status, busy.headers.get("retry-after")]).toEqual([429, "7"]);
    expect(await rounds(account, 1, only)).toEqual([200]);
    expect(await only.audit()).toEqual([]);
    await only.close();
  });

  test("like all the others, for the calls of one caller, is asked all the same by everybody else", async () => {
    const account = await gateway.openAccount({ creditUsd: "50" });
    for (let fault = 0; fault < 5; fault++)
      for (const double of [financial.a, financial.b]) double.answerNext(error(500));
    expect(await rounds(account, 5)).toEqual(Array.from({ length: 5 }, () => 500));
    let before = asked();
    const other = await gateway.openAccount({ creditUsd: "50" });
    expect(await rounds(other, 3)).toEqual([200, 200, 200]);
    expect(since(before)).toEqual([3, 0]);

    // Where the first of them does fail, the second is asked as usual.
    before = asked();
    financial.a.answerNext(error(500));
    expect(await rounds(other, 1)).toEqual([200]);
    expect(since(before)).toEqual([1, 1]);
  });

  test("is asked all the same where the others ask to wait, and left alone where another one answers", async () => {
    const account = await gateway.openAccount({ creditUsd: "50" });
    for (let fault = 0; fault < 5; fault++) financial.a.answerNext(error(500));
    await rounds(account, 5);
    let before = asked();
    financial.b.answerNext(error(500));
    expect(await rounds(account, 1)).toEqual([500]);
    expect(since(before)).toEqual([0, 1]);

    financial.b.answerNext(error(503, { "Retry-After": "3" }));
    expect(await rounds(account, 1)).toEqual([503]);
    before = asked();
    expect(await rounds(account, 2)).toEqual([200, 200]);
    expect(since(before)).toEqual([2, 0]);
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
    const refused = await callSnapshot(account, both);
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
    later(30_000);
    expect(await rounds(account, 2, both)).toEqual([200, 200]);
    expect(await both.audit()).toEqual([]);
    await both.close();
  });

  test("is passed on with how long it asks to be left alone, in its own dialect and in others", async () => {
    const alone = await open(
      `upstreams:\n${upstream("m", "openai", model.a.url)}\nmodels:\n  gpt-x: { via: [m], ${price} }\nsandbox: off`,
    );
    const account = await alone.openAccount();
    for (const path of ["/v1/chat/completions", "/v1/messages"]) {
      for (const [status, asks, told] of [
        [529, "7", "7"],
        [503, "9", "9"],
        [503, "999999999", "86400"],
        [503, "soon", null],
        [400, "7", null],
      ] as const) {
        meetAnew();
        const headers = { "retry-after": asks, "content-type": "application/json" };
        model.a.answerNext({ status, headers, body: '{"error":{"message":"Overloaded"}}' });
        const response = await alone.post(account, path, chat);
        expect([response.status, response.headers.get("retry-after")]).toEqual([status, told]);
      }
    }
    await alone.close();
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
    later(30_000);
    // Refused before it was held, so the key was never taken.
    expect((await send("three")).status).toBe(200);
    await only.close();
  });

  test("keeps its trial for another call when the one that had it could not pay", async () => {
    const both = await openBoth();
    const [rich, poor] = [await both.openAccount(), await both.openAccount({ creditUsd: "0" })];
    bothSay(503, { "Retry-After": "30" });
    expect((await callSnapshot(rich, both)).status).toBe(503);
    later(30_000);
    const before = asked();
    expect((await callSnapshot(poor, both)).status).toBe(402);
    expect((await callSnapshot(rich, both)).status).toBe(200);
    // Not the second one, which has a trial of its own.
    expect(since(before)).toEqual([1, 0]);
    await both.close();
  });

  test("keeps its trial for another call also when a limit of the caller's refused it", async () => {
    const both = await open(`
upstreams:
${upstream("oa", "openai", model.a.url)}
${upstream("ob", "openai", model.b.url)}
models: { gpt-x: { via: [oa, ob], ${price} } }
tiers: { enterprise: { rpm: 100, tpm: 100, concurrency: 5 } }
`);
    const [small, large] = [await both.openAccount({ tier: "enterprise" }), await both.openAccount()];
    const send = async (account: TestAccount): Promise<number> =>
      (await both.post(account, "/v1/chat/completions", chat)).status;
    expect(await send(small)).toBe(200);
    for (const double of [model.a, model.b]) double.answerNext(error(503, { "Retry-After": "5" }));
    expect(await send(large)).toBe(503);
    later(5_000);
    const before = [model.a.requests.length, model.b.requests.length];
    expect(await send(small)).toBe(429);
    expect(await send(large)).toBe(200);
    expect([model.a.requests.length, model.b.requests.length]).toEqual([
      (before[0] ?? 0) + 1,
      before[1] ?? 0,
    ]);
    await both.close();
  });

  test("and is busy consumes nothing of a caller's own limits", async () => {
    const only = await openBoth("tiers: { enterprise: { rpm: 3, tpm: 100, concurrency: 5 } }");
    const account = await only.openAccount({ tier: "enterprise" });
    const codes: string[] = [];
    const send = async (): Promise<void> => {
      const response = await callSnapshot(account, only);
      const body = (await response.json()) as { error?: { code: string } };
      codes.push(body.error?.code ?? String(response.status));
    };
    bothSay(429, { "Retry-After": "7" });
    for (let call = 0; call < 5; call++) await send();
    later(7_000);
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

describe("callers of upstreams that all rest", () => {
  const quota = '{"error":{"message":"no","type":"insufficient_quota","code":"insufficient_quota"}}';
  const headers = { "Content-Type": "application/json" };
  const shown = async (account: TestAccount): Promise<unknown[]> => {
    const response = await gateway.post(account, "/v1/chat/completions", chat);
    const waitSeconds = Number(response.headers.get("retry-after"));
    return [response.status, waitSeconds, response.headers.get("x-should-retry")];
  };

  test("for want of credit hear when the next try is, and that no client is to repeat the call", async () => {
    for (const [answer, status] of [
      [{ status: 402, headers, body: '{"error":{"message":"no"}}' }, 503],
      [{ status: 429, headers, body: quota }, 429],
    ] as const) {
      const account = await gateway.openAccount();
      for (const double of [model.a, model.b]) double.answerNext(answer);
      await shown(account);
      later(20_000);
      expect(await shown(account)).toEqual([status, 40, "false"]);
      // By then somebody may have paid.
      later(40_000);
      expect(await shown(account)).toEqual([200, 0, null]);
      meetAnew();
    }
  });

  test("for different reasons hear of the one that time mends", async () => {
    const account = await gateway.openAccount();
    model.a.answerNext({ status: 429, headers: { ...headers, "Retry-After": "20" }, body: quota });
    model.b.answerNext(error(503, { "Retry-After": "50" }));
    await shown(account);
    later(10_000);
    expect(await shown(account)).toEqual([503, 40, "true"]);
  });
});
