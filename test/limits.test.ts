import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openTestGateway, projectFolder, type TestAccount, type TestGateway } from "./harness.ts";

const chat = { model: "gpt-4o-mini", messages: [{ role: "user", content: "hello" }] };

interface Limited {
  readonly error: {
    readonly type: string;
    readonly code: string;
    readonly limit: {
      readonly name: string;
      readonly limit: number;
      readonly remaining: number;
      readonly reset: number;
    };
  };
}

/** A clock the test moves; monotonic and wall time apart, so that one can be stepped without the other. */
function movableClock() {
  const at = { wallMs: Date.parse("2026-03-01T12:00:00Z"), monotonicMs: 1_000_000 };
  return {
    at,
    pass: (ms: number) => {
      at.wallMs += ms;
      at.monotonicMs += ms;
    },
    clock: { wallMs: () => at.wallMs, monotonicMs: () => at.monotonicMs },
  };
}

describe("tokens per minute", () => {
  const time = movableClock();
  let tollgate: TestGateway;
  beforeAll(async () => {
    tollgate = await openTestGateway({ clock: time.clock });
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
    const { usage } = (await first.json()) as { usage: { total_tokens: number } };
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

  test("that do not fit are refused with 429, and the refused call counts against nothing", async () => {
    const account = await tollgate.openAccount({ tier: "free", creditUsd: "100" });
    await tollgate.sandbox.fault({ vendor: "openai", latency_ms: 300 });
    const running = ask(account, 50_000);
    await Bun.sleep(100);
    const before = await tollgate.balance(account);
    const refused = await ask(account, 20_000);
    expect(refused.status).toBe(429);
    const { error } = (await refused.json()) as Limited;
    expect(error).toMatchObject({ type: "rate_limit_error", code: "rate_limit_exceeded" });
    expect(error.limit).toMatchObject({ name: "tokens_per_minute", limit: 60_000 });
    expect(Number(refused.headers.get("retry-after"))).toBe(61);
    expect(await tollgate.balance(account)).toEqual(before);
    expect((await running).status).toBe(200);
    const limits = (await (await tollgate.call(account, "/v1/limits")).json()) as {
      limits: { remaining: number }[];
    };
    // Two requests counted: the one that ran and this look at the limits.
    expect(limits.limits[0]?.remaining).toBe(58);
  });

  test("never stop a call that is larger than the limit from running alone", async () => {
    const account = await tollgate.openAccount({ tier: "free", creditUsd: "100" });
    expect((await ask(account, 1_000_000)).status).toBe(200);
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
    time.at.wallMs -= 3_600_000;
    expect((await ask(account, 5_000)).status).toBe(429);
    time.at.wallMs += 7_200_000;
    expect((await ask(account, 5_000)).status).toBe(429);
    time.at.wallMs -= 3_600_000;
    time.pass(59_000);
    const early = await ask(account, 5_000);
    expect(early.status).toBe(429);
    time.pass(Number(early.headers.get("retry-after")) * 1000);
    expect((await ask(account, 5_000)).status).toBe(200);
  });

  test("do not apply to data endpoints, which carry no token headers", async () => {
    const account = await tollgate.openAccount();
    const response = await tollgate.call(account, "/apis/v1/financial/financial-metrics/snapshot?ticker=A");
    expect(response.headers.has("x-ratelimit-limit-requests")).toBe(true);
    expect(response.headers.has("x-ratelimit-limit-tokens")).toBe(false);
  });
});

describe("limits of an operation's own", () => {
  const time = movableClock();
  const folder = mkdtempSync(join(tmpdir(), "tollgate-catalogue-"));
  let tollgate: TestGateway;

  beforeAll(async () => {
    writeFileSync(
      join(folder, "slow.ts"),
      `import { defineOperation, fixed, z } from ${JSON.stringify(join(projectFolder, "gateway/src/operation/define-operation.ts"))};
       const common = { category: "data", method: "GET", query: z.looseObject({}), price: fixed("0.001"),
         servedBy: { financialdatasets: { exchange: "forward_query", path: "/financial-metrics/snapshot" } } } as const;
       export const few = defineOperation({ ...common, id: "test.few", title: "Few", summary: "Few a minute.",
         path: "/apis/v1/test/few", limits: { rpm: { group: "few", limit: 5 } } });
       export const slots = defineOperation({ ...common, id: "test.slots", title: "Slots", summary: "Takes a slot.",
         path: "/apis/v1/test/slots", limits: { slot: "always" } });`,
    );
    tollgate = await openTestGateway({ clock: time.clock, catalogueFolders: [folder] });
  });
  afterAll(async () => {
    await tollgate.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test("five requests a minute are five, whatever their answers, and the tightest limit is in the headers", async () => {
    const account = await tollgate.openAccount();
    const statuses: number[] = [];
    for (let sent = 0; sent < 7; sent++) {
      const response = await tollgate.call(account, `/apis/v1/test/few?ticker=A`);
      statuses.push(response.status);
      expect(response.headers.get("x-ratelimit-limit-requests")).toBe("5");
    }
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429]);
    const other = await tollgate.call(account, "/v1/credits/balance");
    // The two refused requests were given back to the key's own limit.
    expect(other.headers.get("x-ratelimit-remaining-requests")).toBe(String(3_000 - 6));
    time.pass(61_000);
    expect((await tollgate.call(account, "/apis/v1/test/few?ticker=A")).status).toBe(200);
  });

  test("concurrency is a number of leases: full is 429 quota_exceeded, and every way a call ends frees its place", async () => {
    const account = await tollgate.openAccount({ tier: "free" });
    const slots = () => tollgate.call(account, "/apis/v1/test/slots?ticker=A");
    await tollgate.sandbox.fault({ path_contains: "snapshot", latency_ms: 400, times: 5 });
    const running = Array.from({ length: 5 }, slots);
    await Bun.sleep(150);
    const refused = await slots();
    expect(refused.status).toBe(429);
    const { error } = (await refused.json()) as Limited;
    expect(error.code).toBe("quota_exceeded");
    expect(error.limit).toMatchObject({ name: "concurrency", limit: 5, remaining: 0 });
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect((await Promise.all(running)).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);

    for (const fault of [
      { status: 500 },
      { mode: "close" },
      { status: 429 },
      { body: "<html>", content_type: "text/html" },
    ]) {
      await tollgate.sandbox.fault({ path_contains: "snapshot", times: 5, ...fault });
      await Promise.all(Array.from({ length: 5 }, slots));
    }
    const poor = await tollgate.openAccount({ creditUsd: "0", tier: "free" });
    for (let sent = 0; sent < 7; sent++) {
      expect((await tollgate.call(poor, "/apis/v1/test/slots?ticker=A")).status).toBe(402);
    }
    const report = (await (await tollgate.call(account, "/v1/limits")).json()) as {
      limits: { name: string; remaining: number; applies_to: readonly string[] }[];
    };
    const concurrency = report.limits.find(({ name }) => name === "concurrency");
    expect(concurrency?.remaining).toBe(5);
    expect(concurrency?.applies_to).toContain("test.slots");
  });
});

test("an upstream's quota is shared by all keys and refuses as upstream_rate_limit before anything is held", async () => {
  const vendor = await openTestGateway();
  const tollgate = await openTestGateway({
    config: `upstreams: { findata: { protocol: financialdatasets, url: "${vendor.sandbox.url}/financialdatasets", key: sandbox, quota_rpm: 3 } }`,
  });
  try {
    const accounts = await Promise.all(Array.from({ length: 5 }, () => tollgate.openAccount()));
    const responses = await Promise.all(
      accounts.map((account) =>
        tollgate.call(account, "/apis/v1/financial/financial-metrics/snapshot?ticker=A"),
      ),
    );
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(3);
    const [refused, alsoRefused] = responses.filter(({ status }) => status === 429);
    if (!refused || !alsoRefused) throw new Error("Two calls should have been refused.");
    expect(((await refused.json()) as Limited).error).toMatchObject({
      type: "rate_limit_error",
      code: "upstream_rate_limit",
      limit: { name: "upstream", limit: 3, remaining: 0 },
    });
    expect(await vendor.sandbox.book()).toHaveLength(3);
  } finally {
    await tollgate.close();
    await vendor.close();
  }
});

describe("GET /v1/limits and applications for more", () => {
  let tollgate: TestGateway;
  beforeAll(async () => {
    tollgate = await openTestGateway();
  });
  afterAll(() => tollgate.close());

  test("the report names the workspace and shows each limit with what is left", async () => {
    const account = await tollgate.openAccount({
      tier: "starter",
      budget: { limitMicros: 5_000_000n, window: "day" },
    });
    const report = (await (await tollgate.call(account, "/v1/limits")).json()) as Record<string, unknown>;
    expect(report).toMatchObject({ workspace_id: account.accountId, key_id: account.keyId, tier: "starter" });
    const limits = report["limits"] as object[];
    expect(limits.slice(0, 3)).toMatchObject([
      { name: "requests_per_minute", applies_to: "all", limit: 600, remaining: 599 },
      { name: "tokens_per_minute", limit: 600_000, remaining: 600_000 },
      { name: "concurrency", limit: 20, remaining: 20 },
    ]);
    // Limits of single operations follow.
    expect(limits.slice(3)).toContainEqual(expect.objectContaining({ limit: 30 }) as object);
    expect(report["budget"]).toMatchObject({
      window: "day",
      limit_micros_usd: 5_000_000,
      spent_micros_usd: 0,
    });
  });

  test("an approved application binds within seconds: Growth, or figures of its own", async () => {
    const account = await tollgate.openAccount({ tier: "free" });
    const filed = await tollgate.post(account, "/v1/limits/requests", {
      expected_rpm: 4_000,
      expected_tpm: 5_000_000,
      endpoints: ["/v1/rerank"],
      use_case: "search over a large archive",
    });
    expect(filed.status).toBe(200);
    const { id, status } = (await filed.json()) as { id: string; status: string };
    expect(status).toBe("open");
    const limits = { rpm: 4_000, tpm: 5_000_000 };
    expect(await tollgate.store.quotas.approve(id, { limits }, Date.now())).toMatchObject({
      state: "approved",
    });
    expect(await tollgate.store.quotas.approve(id, { tier: "growth" }, Date.now())).toBeUndefined();
    expect(await tollgate.store.quotas.deny(id, Date.now())).toBeUndefined();
    await Bun.sleep(2_100);
    const after = await tollgate.call(account, "/v1/credits/balance");
    expect(after.headers.get("x-ratelimit-limit-requests")).toBe("4000");
  });

  test("an application is checked: both figures, a use case, and what it is for", async () => {
    const account = await tollgate.openAccount();
    const good = { expected_rpm: 1, expected_tpm: 1, models: ["m"], use_case: "u" };
    for (const [change, field] of [
      [{ expected_rpm: 0 }, "expected_rpm"],
      [{ expected_tpm: "1" }, "expected_tpm"],
      [{ use_case: "" }, "use_case"],
      [{ models: [] }, "models"],
      [{ tier: "enterprise" }, "tier"],
    ] as const) {
      const response = await tollgate.post(account, "/v1/limits/requests", { ...good, ...change });
      expect(response.status).toBe(400);
      expect(((await response.json()) as { error: string }).error).toContain(field);
    }
    for (let filed = 0; filed < 5; filed++) {
      expect((await tollgate.post(account, "/v1/limits/requests", good)).status).toBe(200);
    }
    expect((await tollgate.post(account, "/v1/limits/requests", good)).status).toBe(400);
  });
});
