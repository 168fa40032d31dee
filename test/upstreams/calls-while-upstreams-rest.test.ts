// What calls meet while an upstream is left alone: who is asked all the same, and what callers are told.

import { describe, expect, test } from "bun:test";
import type { TestAccount, TestGateway } from "../support/test-gateway.ts";
import { error, price, callSnapshot, upstream } from "./two-upstreams.ts";
import { chat, snapshotPath } from "../support/purchases.ts";
import { useRoutedCalls } from "./routed-calls.ts";

const { gateway, financial, model, open, later, meetAnew, rounds, asked, since } = await useRoutedCalls();

describe("an upstream that fails again and again", () => {
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
