import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { json, type Limited } from "../support/answers.ts";
import { snapshotPath } from "../support/purchases.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";
import { createVirtualClock } from "../support/virtual-clock.ts";

const chat = { model: "gpt-4o-mini", messages: [{ role: "user", content: "hello" }] };

describe("tokens per minute", () => {
  const clock = createVirtualClock();
  let tollgate: TestGateway;
  beforeAll(async () => {
    tollgate = await openTestGateway({ clock });
  });
  afterAll(() => tollgate.close());

  const ask = (account: TestAccount, maxTokens?: number): Promise<Response> =>
    tollgate.post(account, "/v1/chat/completions", {
      ...chat,
      ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
    });

  test("admit on the estimate and are trued up to what was really used", async () => {
    const account = await tollgate.openAccount({ tier: "free" });
    const first = await ask(account, 40_000);
    expect(first.status).toBe(200);
    const { usage } = await json<{ usage: { total_tokens: number } }>(first);
    // The headers show the estimate at admission: input by bytes, plus the caller's own maximum.
    const bodyBytes = JSON.stringify({ ...chat, max_tokens: 40_000 }).length;
    expect(Number(first.headers.get("x-ratelimit-limit-tokens"))).toBe(60_000);
    expect(Number(first.headers.get("x-ratelimit-remaining-tokens"))).toBe(20_000 - Math.ceil(bodyBytes / 4));
    // Without the correction a second such call would not fit.
    const second = await ask(account, 40_000);
    expect(second.status).toBe(200);
    expect(Number(second.headers.get("x-ratelimit-remaining-tokens"))).toBe(
      20_000 - Math.ceil(bodyBytes / 4) - usage.total_tokens,
    );
  });

  test("are trued up after a stream too, to what it used and not to nothing", async () => {
    const account = await tollgate.openAccount({ tier: "free" });
    const streamed = { ...chat, max_tokens: 40_000, stream: true, stream_options: { include_usage: true } };
    const first = await tollgate.post(account, "/v1/chat/completions", streamed);
    const used = Number(/"total_tokens":(\d+)/.exec(await first.text())?.[1]);
    expect(used).toBeGreaterThan(0);
    const input = Math.ceil(JSON.stringify({ ...chat, max_tokens: 40_000 }).length / 4);
    const second = await ask(account, 40_000);
    expect(Number(second.headers.get("x-ratelimit-remaining-tokens"))).toBe(20_000 - input - used);
  });

  test("that do not fit are refused with 429, and the refused call counts against nothing", async () => {
    const account = await tollgate.openAccount({ tier: "free", creditUsd: "100" });
    await tollgate.sandbox.fault({ vendor: "openai", latency_ms: 1_000 });
    const running = ask(account, 50_000);
    await tollgate.sandbox.busyWith(1);
    const before = await tollgate.balance(account);
    const refused = await ask(account, 20_000);
    expect(refused.status).toBe(429);
    const { error } = await json<Limited>(refused);
    expect(error).toMatchObject({ type: "rate_limit_error", code: "rate_limit_exceeded" });
    expect(error.limit).toMatchObject({ name: "tokens_per_minute", limit: 60_000 });
    expect(Number(refused.headers.get("retry-after"))).toBe(60);
    expect(await tollgate.balance(account)).toEqual(before);
    expect((await running).status).toBe(200);
    const limits = await json<{
      limits: { remaining: number }[];
    }>(tollgate.call(account, "/v1/limits"));
    // Two requests counted: the one that ran and this look at the limits.
    expect(limits.limits[0]?.remaining).toBe(58);
  });

  test("never stop a call that is larger than the limit from running alone", async () => {
    const account = await tollgate.openAccount({ tier: "free", creditUsd: "100" });
    expect((await ask(account, 120_000)).status).toBe(200);
  });

  test("show all that is left when the call was refused for another reason", async () => {
    const account = await tollgate.openAccount({ tier: "free", creditUsd: "0" });
    const response = await ask(account, 60_000);
    expect(response.status).toBe(402);
    expect(response.headers.get("x-ratelimit-remaining-tokens")).toBe("60000");
  });

  test("are 1,024 of output for a caller that sets no maximum", async () => {
    const account = await tollgate.openAccount({ tier: "free" });
    const response = await ask(account);
    const input = Math.ceil(JSON.stringify(chat).length / 4);
    expect(Number(response.headers.get("x-ratelimit-remaining-tokens"))).toBe(60_000 - 1_024 - input);
  });

  test("come back when their minute has passed, and a stepped wall clock changes nothing", async () => {
    const account = await tollgate.openAccount({ tier: "free", creditUsd: "100" });
    await tollgate.sandbox.fault({ vendor: "openai", json_patch: { usage: { completion_tokens: 59_000 } } });
    expect((await ask(account, 59_000)).status).toBe(200);
    clock.stepWall(-3_600_000);
    expect((await ask(account, 5_000)).status).toBe(429);
    clock.stepWall(7_200_000);
    expect((await ask(account, 5_000)).status).toBe(429);
    clock.stepWall(-3_600_000);
    clock.advance(59_000);
    const early = await ask(account, 5_000);
    expect(early.status).toBe(429);
    clock.advance(Number(early.headers.get("retry-after")) * 1000);
    expect((await ask(account, 5_000)).status).toBe(200);
  });

  test("count no more than the call could use, whatever its vendor says", async () => {
    const account = await tollgate.openAccount({ tier: "free", creditUsd: "100" });
    for (const usage of [{ prompt_tokens: 1e18 }, { completion_tokens: 1e18 }]) {
      await tollgate.sandbox.fault({ vendor: "openai", json_patch: { usage } });
      expect((await ask(account, 500)).status).toBe(200);
    }
    const next = await ask(account, 500);
    expect(next.status).toBe(200);
    const estimate = 500 + Math.ceil(JSON.stringify({ ...chat, max_tokens: 500 }).length / 4);
    const mostOfTwo = 2 * (500 + JSON.stringify({ ...chat, max_tokens: 500 }).length);
    expect(Number(next.headers.get("x-ratelimit-remaining-tokens"))).toBe(60_000 - mostOfTwo - estimate);
  });

  const nowSeconds = (): number => Math.floor(clock.wallMs() / 1000);

  const resets = ({ headers }: Response): number[] =>
    ["requests", "tokens"].map((of) => Number(headers.get(`x-ratelimit-reset-${of}`)));

  test("ease at a moment that is never in the past, however long the upstream took", async () => {
    const account = await tollgate.openAccount({ tier: "free" });
    for (const fault of [{ latency_ms: 600 }, { latency_ms: 600, status: 429 }]) {
      await tollgate.sandbox.fault({ vendor: "openai", times: 1, ...fault });
      const running = ask(account, 100);
      await tollgate.sandbox.busyWith(1);
      clock.advance(90_000);
      for (const reset of resets(await running)) expect(reset).toBeGreaterThanOrEqual(nowSeconds());
    }
  });

  test("ease when they do, also for a call that was slow to say what it wants", async () => {
    const account = await tollgate.openAccount({ tier: "free", creditUsd: "100" });
    const whole = new TextEncoder().encode(JSON.stringify({ ...chat, max_tokens: 20_000 }));
    const { promise: isSlow, resolve: comes } = Promise.withResolvers<void>();
    const body = new ReadableStream<Uint8Array>({
      start: async (controller) => {
        controller.enqueue(whole.subarray(0, 10));
        await isSlow;
        controller.enqueue(whole.subarray(10));
        controller.close();
      },
    });
    const headers = { "content-type": "application/json" };
    const slow = tollgate.call(account, "/v1/chat/completions", { method: "POST", headers, body });
    await Bun.sleep(50);
    clock.advance(40_000);
    await tollgate.sandbox.fault({ vendor: "openai", latency_ms: 1_000, times: 1 });
    const running = ask(account, 50_000);
    await tollgate.sandbox.busyWith(1);
    comes();
    const refused = await slow;
    expect(refused.status).toBe(429);
    const { error } = await json<Limited>(refused);
    const [, tokensReset] = resets(refused);
    expect(tokensReset).toBe(error.limit.reset);
    expect(error.limit.reset - nowSeconds()).toBe(Number(refused.headers.get("retry-after")));
    await running;
  });

  test("reset, for a call that needs more than the oldest of them, when there is room for it", async () => {
    const account = await tollgate.openAccount({ tier: "free", creditUsd: "100" });
    const usage = { completion_tokens: 25_000 };
    await tollgate.sandbox.fault({ vendor: "openai", json_patch: { usage }, times: 2 });
    expect((await ask(account, 30_000)).status).toBe(200);
    clock.advance(20_000);
    expect((await ask(account, 30_000)).status).toBe(200);
    const refused = await ask(account, 50_000);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "60"]);
    const roomAt = Math.ceil((clock.wallMs() + 60_000) / 1000);
    const { error } = await json<Limited>(refused);
    expect([error.limit.reset, resets(refused)[1]]).toEqual([roomAt, roomAt]);
    clock.advance(59_999);
    expect((await ask(account, 50_000)).status).toBe(429);
    clock.advance(1);
    expect((await ask(account, 50_000)).status).toBe(200);
  });

  test("are in every answer of a conversation, also of one that was not admitted", async () => {
    const config = "tiers: { enterprise: { rpm: 2, tpm: 5000, concurrency: 1 } }";
    const strict = await openTestGateway({ clock, config });
    const account = await strict.openAccount({ tier: "enterprise" });
    const shown = async (body: object, headers = {}): Promise<readonly unknown[]> => {
      const response = await strict.post(account, "/v1/chat/completions", body, headers);
      const figure = (name: string): string | null => response.headers.get(`x-ratelimit-${name}-tokens`);
      expect(Number(figure("reset"))).toBeGreaterThanOrEqual(nowSeconds());
      return [response.status, figure("limit"), figure("remaining")];
    };
    expect(await shown({ ...chat, messages: "none" })).toEqual([400, "5000", "5000"]);
    expect(await shown(chat, { "x-tollgate-cost-mode": "quote" })).toEqual([200, "5000", "5000"]);
    expect(await shown(chat)).toEqual([429, "5000", "5000"]);
    clock.advance(60_000);
    await strict.sandbox.fault({ vendor: "openai", status: 429, times: 1 });
    expect(await shown(chat)).toEqual([429, "5000", "5000"]);
    await strict.close();
  });

  test("do not apply to data endpoints, which carry no token headers", async () => {
    const account = await tollgate.openAccount();
    const response = await tollgate.call(account, snapshotPath);
    expect(response.headers.has("x-ratelimit-limit-requests")).toBe(true);
    expect(response.headers.has("x-ratelimit-limit-tokens")).toBe(false);
  });
});
