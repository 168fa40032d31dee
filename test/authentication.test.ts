// Who may come in, and what everybody else is told. Limits run on a clock that the test moves.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";

import {
  anthropic,
  flat,
  gemini,
  nested,
  openai,
  read,
  someText,
  type Answered,
} from "./bad-inputs/error-shapes.ts";
import { expectNothingHappened } from "./bad-inputs/nothing-happened.ts";
import { rawRequest, sendForOne } from "./bad-inputs/raw-request.ts";
import { createVirtualClock, type VirtualClock } from "./bad-inputs/virtual-clock.ts";
import { createKeySecret } from "../gateway/src/keys/key-format.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "./harness.ts";

const snapshotPath = "/apis/v1/financial/financial-metrics/snapshot?ticker=AAPL";
const balancePath = "/v1/credits/balance";
const chat = { model: "gpt-4o", messages: [{ role: "user", content: "hi" }], max_tokens: 1 };
const minuteMs = 60_000;

let clock: VirtualClock;
let gateway: TestGateway;
let account: TestAccount;

beforeAll(async () => {
  clock = createVirtualClock();
  gateway = await openTestGateway({ clock });
  account = await gateway.openAccount();
});

afterAll(() => gateway.close());

const get = (path: string, headers: Readonly<Record<string, string>> = {}) =>
  fetch(gateway.url + path, { headers });

const unknownKey = (): string => createKeySecret((count) => crypto.getRandomValues(new Uint8Array(count)));

/** The shape of a 401 under this path, by the table of dialects. */
const refusedKey = (path: string, code: string): ((answered: Answered) => void) => {
  if (/^\/v1\/(chat\/completions|responses|embeddings|images\/|models)/.test(path)) {
    return openai(401, code, { type: "authentication_error" });
  }
  if (path.startsWith("/v1/messages")) return anthropic(401, code, { type: "authentication_error" });
  if (path.startsWith("/v1beta/")) return gemini(401, code, { status: "UNAUTHENTICATED" });
  return flat(401, code);
};

const unknownPaths = [
  "/v1",
  "/v1/",
  "/v1/nothing",
  "/v1/requests/x/y",
  "/v1/images/nothing",
  "/v1/messages/nothing",
  "/v1beta/nothing",
  "/v1beta/models/x:nothing",
  "/apis/v1",
  "/apis/v1/nothing",
];

describe("without a good credential", () => {
  test("every route there is answers 401 (the hidden one 404), whatever is sent along", async () => {
    const { all } = gateway.gateway.offer().routes;
    expect(all.length).toBeGreaterThan(8);
    await expectNothingHappened(gateway, async () => {
      for (const { path, operation } of all) {
        const url = path.replaceAll(/\{\w+\}/g, "x");
        const { method } = operation;
        const body = method === "POST" ? { body: JSON.stringify(chat) } : {};
        const ask = (headers: Record<string, string>) =>
          fetch(gateway.url + url, { method, headers, ...body });
        // One operation hides itself from whoever shows no credential at all.
        const hidden = operation.id === "traffic_analytics.website.traffic_engagement";
        const shown = hidden ? flat(404, "unknown_endpoint") : refusedKey(url, "missing_api_key");
        shown(await read(ask({})));
        refusedKey(url, "invalid_api_key")(await read(ask({ authorization: `Bearer ${unknownKey()}` })));
      }
    });
  });

  test("a path that does not exist answers 401 as well, so it tells a stranger nothing", async () => {
    for (const path of unknownPaths) refusedKey(path, "missing_api_key")(await read(get(path)));
  });

  test("an unknown key and a revoked one cannot be told apart", async () => {
    const revoked = await gateway.openAccount();
    await gateway.store.keys.revoke(revoked.keyId, clock.wallMs());
    const answerTo = async (key: string) => {
      const response = await get(balancePath, { authorization: `Bearer ${key}` });
      const requestId = response.headers.get("x-request-id") ?? "none";
      const headers = [...response.headers].filter(([name]) => name !== "date");
      return JSON.stringify([response.status, headers, await response.text()]).replaceAll(requestId, "ID");
    };
    const told = await answerTo(revoked.key);
    expect(told).toBe(await answerTo(unknownKey()));
    // Nor the second time, when the first look-up may be remembered.
    expect(await answerTo(revoked.key)).toBe(told);
    expect(told).toContain("invalid_api_key");
  });

  test("an expired key is told so, from the very moment it expires", async () => {
    const expiresAtMs = clock.wallMs() + 1_000;
    const { key } = await gateway.openAccount({ expiresAtMs });
    const headers = { authorization: `Bearer ${key}` };
    clock.advance(999);
    expect((await get(balancePath, headers)).status).toBe(200);
    clock.advance(1);
    flat(401, "expired_api_key")(await read(get(balancePath, headers)));
  });

  test("two Authorization headers are refused, whichever of them is good", async () => {
    const good = `Authorization: Bearer ${account.key}`;
    for (const lines of [
      [good, good],
      [good, "Authorization: Bearer x"],
      ["Authorization: Bearer x", good],
    ]) {
      const answer = await sendForOne(gateway.port, rawRequest({ lines }));
      expect({ status: answer.status, code: JSON.parse(answer.body) as unknown }).toEqual({
        status: 401,
        code: { error: someText, code: "invalid_api_key", request_id: answer.headers["x-request-id"] },
      });
    }
  });

  test("a refused key in quote mode is told in the quote's own shape", async () => {
    const quote = { "X-Tollgate-Cost-Mode": "quote" };
    for (const path of [snapshotPath, "/v1/nothing"]) {
      const missing = await read(get(path, quote));
      expect({ status: missing.status, body: missing.body }).toEqual({
        status: 401,
        body: { error: { code: "missing_api_key", message: someText } },
      });
      nested(
        401,
        "invalid_api_key",
      )(await read(get(path, { ...quote, authorization: `Bearer ${unknownKey()}` })));
    }
  });
});

describe("where a key may stand", () => {
  const nowhere = [
    "/v1/messages/nothing",
    "/v1beta/nothing",
    "/v1/nothing",
    "/v1/images/nothing",
    "/apis/v1/nothing",
  ];

  test.each([
    ["x-api-key", "/v1/messages"],
    ["x-goog-api-key", "/v1beta/"],
  ])("%s opens only %s", async (header, prefix) => {
    for (const path of nowhere) {
      const { status } = await read(get(path, { [header]: account.key }));
      expect({ path, status }).toEqual({ path, status: path.startsWith(prefix) ? 404 : 401 });
    }
    expect((await get(balancePath, { [header]: account.key })).status).toBe(401);
    const wrong = nowhere.find((path) => path.startsWith(prefix)) ?? "";
    refusedKey(wrong, "invalid_api_key")(await read(get(wrong, { [header]: unknownKey() })));
  });

  test("a bearer opens every dialect", async () => {
    for (const path of nowhere) expect((await gateway.call(account, path)).status).toBe(404);
  });

  test("a query parameter opens nothing", async () => {
    for (const path of [...nowhere, balancePath]) {
      for (const name of ["key", "api_key", "x-goog-api-key"]) {
        expect((await get(`${path}?${name}=${account.key}`)).status).toBe(401);
      }
    }
  });

  test("an OAuth-shaped token and a key of another installation are not valid here", async () => {
    for (const token of [`tgo_${"a".repeat(36)}`, unknownKey(), "sk-proj-abc", "tgk_", "sandbox"]) {
      flat(401, "invalid_api_key")(await read(get(balancePath, { authorization: `Bearer ${token}` })));
    }
  });
});

describe("with a good credential", () => {
  test("a path that does not exist is 404, in the dialect of the path", async () => {
    const message = "api endpoint not found";
    for (const path of unknownPaths) {
      const { status, body, requestId } = await read(gateway.call(account, path));
      expect(status).toBe(404);
      if (path.startsWith("/v1/images/")) {
        expect(body).toEqual({
          error: { message, type: "not_found_error", param: null, code: "unknown_endpoint" },
        });
      } else if (path.startsWith("/v1/messages")) {
        expect(body).toEqual({
          type: "error",
          error: { type: "not_found_error", message, code: "unknown_endpoint" },
          request_id: requestId,
        });
      } else if (path.startsWith("/v1beta/")) {
        expect(body).toEqual({
          error: { code: 404, message, status: "NOT_FOUND", reason: "unknown_endpoint" },
        });
      } else {
        expect(body).toEqual({ error: message, code: "unknown_endpoint", request_id: requestId });
      }
    }
  });

  test("a known path with another method is 404 too", async () => {
    for (const [method, path] of [
      ["DELETE", balancePath],
      ["GET", "/v1/rerank"],
      ["PUT", "/v1/rerank"],
    ] as const) {
      flat(404, "unknown_endpoint")(await read(gateway.call(account, path, { method })));
    }
  });

  test("a refusal of a chat speaks OpenAI, whatever the reason", async () => {
    const poor = await gateway.openAccount({ creditUsd: "0" });
    const complete = (who: TestAccount, body: unknown, headers = {}) =>
      read(gateway.post(who, "/v1/chat/completions", body, headers));
    openai(400, "invalid_parameters", { type: "invalid_request_error", param: "messages" })(
      await complete(account, { model: "gpt-4o" }),
    );
    const bytes = JSON.stringify(chat).length;
    const estimated_micros_usd = Math.ceil(10 + bytes * 2.5);
    const refusal = { type: "insufficient_quota", retryable: false, estimated_micros_usd };
    openai(402, "insufficient_balance", { ...refusal, limit_micros_usd: 0 })(await complete(poor, chat));
    openai(402, "estimated_price_exceeds_max_price", { ...refusal, limit_micros_usd: 1 })(
      await complete(account, chat, { "X-Tollgate-Max-Price-USD": "0.000001" }),
    );
  });

  test("a malformed request is refused in the dialect of its path", async () => {
    const shapes = {
      "/v1/messages/nothing": anthropic(400, "invalid_parameters", { type: "invalid_request_error" }),
      "/v1beta/nothing": gemini(400, "invalid_parameters", { status: "INVALID_ARGUMENT" }),
      "/v1/chat/completions": openai(400, "invalid_parameters", { type: "invalid_request_error" }),
      "/v1/rerank": flat(400, "invalid_parameters"),
    };
    for (const [path, check] of Object.entries(shapes)) {
      const bytes = rawRequest({ line: `GET ${path} HTTP/1.1`, key: account, lines: ["Host: second.test"] });
      const { status = 0, body, headers } = await sendForOne(gateway.port, bytes);
      check({ status, body: JSON.parse(body) as unknown, requestId: headers["x-request-id"] ?? "" });
    }
  });

  test("a suspended account buys nothing, and may still read its books", async () => {
    const suspended = await gateway.openAccount();
    await gateway.store.accounts.update(suspended.accountId, { suspended: true });
    await expectNothingHappened(gateway, async () => {
      nested(403, "account_suspended")(await read(gateway.call(suspended, snapshotPath)));
      openai(403, "account_suspended", { type: "permission_error" })(
        await read(gateway.post(suspended, "/v1/chat/completions", chat)),
      );
      expect((await gateway.call(suspended, balancePath)).status).toBe(200);
    });
    await gateway.store.accounts.update(suspended.accountId, { suspended: false });
    clock.advance(5_000);
    expect((await gateway.call(suspended, snapshotPath)).status).toBe(200);
  });

  test("a revoked key stops within 5 s, also one that is used all the time", async () => {
    const revoked = await gateway.openAccount();
    const status = async () => (await gateway.call(revoked, balancePath)).status;
    expect(await status()).toBe(200);
    await gateway.store.keys.revoke(revoked.keyId, clock.wallMs());
    for (let elapsedMs = 0; elapsedMs < 5_000; elapsedMs += 500) {
      clock.advance(500);
      await status();
    }
    flat(401, "invalid_api_key")(await read(gateway.call(revoked, balancePath)));
  });
});

describe("the rate of requests", () => {
  const unixNow = () => Math.floor(clock.wallMs() / 1_000);
  const rateOf = ({ headers }: Response) => ({
    limit: headers.get("x-ratelimit-limit-requests"),
    remaining: headers.get("x-ratelimit-remaining-requests"),
    reset: Number(headers.get("x-ratelimit-reset-requests") ?? Number.NaN),
  });
  const exhaust = async (who: TestAccount, times = 60) => {
    for (let sent = 0; sent < times; sent++) {
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
    expect(reset).toBeGreaterThanOrEqual(unixNow());
    expect(reset).toBeLessThanOrEqual(unixNow() + 62);
    const retryAfter = response.headers.get("retry-after") ?? "";
    expect(retryAfter).toMatch(/^[1-9]\d?$/);
    expect(Number(retryAfter)).toBeLessThanOrEqual(61);
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
    gemini(429, "rate_limit_exceeded", { status: "RESOURCE_EXHAUSTED", type, limit })(
      await read(gateway.call(free, "/v1beta/nothing")),
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
    const stranger = await get(balancePath);
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
        const { status } = await gateway.gateway.fetch(request);
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
    clock.setWallBack(3_600_000);
    const refused = await gateway.call(free, balancePath);
    expect(refused.status).toBe(429);
    expect(rateOf(refused).reset).toBeGreaterThanOrEqual(unixNow());
    expect(rateOf(refused).reset).toBeLessThanOrEqual(unixNow() + 62);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
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
