// The rate of requests, by the minute. It runs on a clock that the test moves.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { anthropic, gemini, openai, read, someText } from "../bad-inputs/error-shapes.ts";
import { askDirectly } from "../support/ask-directly.ts";
import { balancePath, chatBody, snapshotPath } from "../support/purchases.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";
import { createVirtualClock, type VirtualClock } from "../support/virtual-clock.ts";

const chat = chatBody({ max_tokens: 1 });
const minuteMs = 60_000;

let clock: VirtualClock;
let gateway: TestGateway;

beforeAll(async () => {
  clock = createVirtualClock();
  gateway = await openTestGateway({ clock });
});

afterAll(() => gateway.close());

describe("the rate of requests", () => {
  const unixNow = () => Math.floor(clock.wallMs() / 1_000);
  const rateOf = ({ headers }: Response) => ({
    limit: headers.get("x-ratelimit-limit-requests"),
    remaining: headers.get("x-ratelimit-remaining-requests"),
    reset: Number(headers.get("x-ratelimit-reset-requests") ?? Number.NaN),
  });
  const exhaust = async (who: TestAccount) => {
    for (let sent = 0; sent < 60; sent++) {
      const response = await gateway.call(who, balancePath);
      expect(response.status).toBe(200);
      expect(rateOf(response).remaining).toBe(String(59 - sent));
    }
  };

  test("the 61st request of a minute is refused with all the figures", async () => {
    const free = await gateway.openAccount({ tier: "free" });
    await exhaust(free);
    const response = await gateway.call(free, balancePath);
    const { limit, remaining, reset } = rateOf(response);
    expect({ limit, remaining }).toEqual({ limit: "60", remaining: "0" });
    // Nothing of the minute has passed, so all of it is to be waited for, and no more.
    expect(reset).toBe(Math.ceil((clock.wallMs() + minuteMs) / 1_000));
    expect(response.headers.get("retry-after")).toBe("60");
    const answered = await read(response);
    expect({ status: answered.status, body: answered.body }).toEqual({
      status: 429,
      body: {
        error: {
          type: "rate_limit_error",
          code: "rate_limit_exceeded",
          message: someText,
          limit: { name: someText, limit: 60, remaining: 0, reset },
        },
        request_id: answered.requestId,
      },
    });
  });

  test("a refusal by rate is a rate_limit_error in every dialect", async () => {
    const free = await gateway.openAccount({ tier: "free" });
    await exhaust(free);
    const limit = { name: someText, limit: 60, remaining: 0, reset: expect.any(Number) as unknown };
    const type = "rate_limit_error";
    openai(429, "rate_limit_exceeded", { type, limit })(
      await read(gateway.post(free, "/v1/chat/completions", chat)),
    );
    anthropic(429, "rate_limit_exceeded", { type, limit })(
      await read(gateway.call(free, "/v1/messages/nothing")),
    );
    const told = await gateway.call(free, "/v1beta/nothing");
    const retryDelay = `${told.headers.get("retry-after")}s`;
    const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay }];
    gemini(429, "rate_limit_exceeded", { status: "RESOURCE_EXHAUSTED", type, limit, details })(
      await read(told),
    );
  });

  test("a refused request is not counted: waiting Retry-After admits one, however many were refused", async () => {
    const free = await gateway.openAccount({ tier: "free" });
    await exhaust(free);
    const first = await gateway.call(free, balancePath);
    const promisedAtMs = clock.monotonicMs() + Number(first.headers.get("retry-after")) * 1_000;
    for (let refused = 0; refused < 200; refused++) {
      clock.advance(50);
      expect((await gateway.call(free, balancePath)).status).toBe(429);
    }
    clock.advance(promisedAtMs - clock.monotonicMs());
    expect((await gateway.call(free, balancePath)).status).toBe(200);
  });

  test("a whole minute is free again 60 s after it was used up at once, and not a millisecond earlier", async () => {
    const free = await gateway.openAccount({ tier: "free" });
    clock.advance(457);
    await exhaust(free);
    clock.advance(minuteMs - 1);
    const early = await gateway.call(free, balancePath);
    expect([early.status, early.headers.get("retry-after")]).toEqual([429, "1"]);
    // Whoever comes back at the second that it names finds room.
    const { error } = (await early.json()) as { error: { limit: { reset: number } } };
    expect(error.limit.reset).toBe(Math.ceil((clock.wallMs() + 1) / 1_000));
    clock.advance(1);
    await exhaust(free);
  });

  test("waiting Retry-After admits one wherever in the minute the requests lay", async () => {
    const free = await gateway.openAccount({ tier: "free" });
    for (let sent = 0; sent < 60; sent++) {
      expect((await gateway.call(free, balancePath)).status).toBe(200);
      clock.advance(937);
    }
    for (let round = 0; round < 30; round++) {
      const refused = await gateway.call(free, balancePath);
      if (refused.status === 200) {
        clock.advance(11);
        continue;
      }
      clock.advance(Number(refused.headers.get("retry-after")) * 1_000);
      expect((await gateway.call(free, balancePath)).status).toBe(200);
    }
  });

  /** Of a body in chunks nobody knows how long it is until it is too long. */
  const unannounced = () =>
    new ReadableStream({
      start: (pieces) => {
        for (let mebibytes = 0; mebibytes < 11; mebibytes++) pieces.enqueue(new Uint8Array(1024 ** 2));
        pieces.close();
      },
    });

  test("every authenticated answer carries the rate and counts, whatever its status", async () => {
    const free = await gateway.openAccount({ tier: "free", creditUsd: "0.05" });
    const asks: readonly (readonly [number, () => Promise<Response>])[] = [
      [200, () => gateway.call(free, balancePath)],
      [200, () => gateway.call(free, snapshotPath)],
      [200, () => gateway.call(free, snapshotPath, { headers: { "X-Tollgate-Cost-Mode": "quote" } })],
      [400, () => gateway.call(free, "/v1/usage")],
      [400, () => gateway.post(free, "/v1/rerank", "{")],
      [402, () => gateway.call(free, snapshotPath)],
      [404, () => gateway.call(free, "/v1/nothing")],
      [404, () => gateway.call(free, "/v1/requests/unknown")],
      [413, () => gateway.post(free, "/v1/rerank", " ".repeat(10 * 1024 * 1024 + 1))],
      [413, () => gateway.call(free, "/v1/rerank", { method: "POST", body: unannounced() })],
      [415, () => gateway.post(free, "/v1/rerank", "{}", { "content-type": "image/png" })],
    ];
    for (const [position, [status, ask]] of asks.entries()) {
      const response = await ask();
      const { limit, remaining, reset } = rateOf(response);
      expect({ status: response.status, limit, remaining }).toEqual({
        status,
        limit: "60",
        remaining: String(59 - position),
      });
      expect(reset).toBeGreaterThanOrEqual(unixNow());
      await response.arrayBuffer();
    }
    const stranger = await fetch(gateway.url + balancePath);
    expect(rateOf(stranger)).toEqual({ limit: null, remaining: null, reset: Number.NaN });
  });

  test("in no sixty seconds does a free key get more than 60 requests through, however it times them", async () => {
    const free = await gateway.openAccount({ tier: "free" });
    const startedMs = clock.monotonicMs();
    const admittedAtMs: number[] = [];
    const burst = async (count: number) => {
      for (let sent = 0; sent < count; sent++) {
        const request = new Request(gateway.url + balancePath, {
          headers: { authorization: `Bearer ${free.key}` },
        });
        const { status } = await askDirectly(gateway.gateway, request);
        if (status === 200) admittedAtMs.push(clock.monotonicMs());
        else expect(status).toBe(429);
      }
    };

    // The classic: all at the end of one minute, all again at the start of the next, by every reckoning of it.
    for (const offsetMs of [59_999, 1, 999, 1, 58_999, 1, 1, 29_999, 30_001, 60_000, 1_000, 500, 500]) {
      clock.advance(offsetMs);
      await burst(70);
    }
    // And without a plan, always more than the limit allows.
    let seed = 20_261_115;
    const chance = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below;
    for (let round = 0; round < 300; round++) {
      clock.advance(chance(4_000));
      await burst(chance(12));
    }

    for (const [position, atMs] of admittedAtMs.entries()) {
      const sixtyLater = admittedAtMs[position + 60];
      if (sixtyLater !== undefined) expect(sixtyLater - atMs).toBeGreaterThanOrEqual(minuteMs);
    }
    // Nor much less: a limit that starves honest callers would pass the test above.
    const possible = (60 * (clock.monotonicMs() - startedMs)) / minuteMs;
    expect(admittedAtMs.length).toBeGreaterThan(0.8 * possible);
  });

  test("a wall clock set back an hour gives no second allowance and no reset in the past", async () => {
    const free = await gateway.openAccount({ tier: "free" });
    await exhaust(free);
    clock.stepWall(-3_600_000);
    const refused = await gateway.call(free, balancePath);
    expect(refused.status).toBe(429);
    expect(rateOf(refused).reset).toBe(Math.ceil((clock.wallMs() + minuteMs) / 1_000));
    expect(refused.headers.get("retry-after")).toBe("60");
    clock.advance(3_600_000);
  });

  test("each key has its own minute, and a tier its own limit", async () => {
    const [one, two] = [
      await gateway.openAccount({ tier: "free" }),
      await gateway.openAccount({ tier: "free" }),
    ];
    await exhaust(one);
    expect((await gateway.call(one, balancePath)).status).toBe(429);
    expect((await gateway.call(two, balancePath)).status).toBe(200);
    const starter = await gateway.openAccount({ tier: "starter" });
    expect(rateOf(await gateway.call(starter, balancePath)).limit).toBe("600");
  });
});
