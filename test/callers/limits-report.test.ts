import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { json } from "../support/answers.ts";
import { openTestGateway, type TestGateway } from "../support/test-gateway.ts";
import { createVirtualClock } from "../support/virtual-clock.ts";

describe("GET /v1/limits and applications for more", () => {
  const clock = createVirtualClock();
  let tollgate: TestGateway;
  beforeAll(async () => {
    tollgate = await openTestGateway({ clock });
  });
  afterAll(() => tollgate.close());

  test("the report names the workspace and shows each limit with what is left", async () => {
    const account = await tollgate.openAccount({
      tier: "starter",
      budget: { limitMicros: 5_000_000n, window: "day" },
    });
    const report = await json<Record<string, unknown>>(tollgate.call(account, "/v1/limits"));
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

  test("slots are shown for what takes them: of the Gemini dialect the stream alone", async () => {
    const account = await tollgate.openAccount();
    const { limits } = await json<{ limits: { name: string; applies_to: readonly string[] }[] }>(
      tollgate.call(account, "/v1/limits"),
    );
    const slots = limits.find(({ name }) => name === "concurrency")?.applies_to ?? [];
    expect(slots.filter((id) => id.includes("generate_content"))).toEqual(["models.stream_generate_content"]);
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
    const { id, status } = await json<{ id: string; status: string }>(filed);
    expect(status).toBe("open");
    const limits = { rpm: 4_000, tpm: 5_000_000 };
    const nowMs = clock.wallMs();
    expect(await tollgate.store.quotas.approve(id, { limits }, nowMs)).toMatchObject({ state: "approved" });
    expect(await tollgate.store.quotas.approve(id, { tier: "growth" }, nowMs)).toBeUndefined();
    expect(await tollgate.store.quotas.deny(id, nowMs)).toBeUndefined();
    clock.advance(2_000);
    const after = await tollgate.call(account, "/v1/credits/balance");
    expect(after.headers.get("x-ratelimit-limit-requests")).toBe("4000");
  });

  test("figures that were granted count where they are more than the tier's: who pays into a higher tier has that", async () => {
    const account = await tollgate.openAccount({ tier: "free" });
    const wish = { expected_rpm: 100, expected_tpm: 100, models: ["m"], use_case: "u" };
    const filed = await tollgate.post(account, "/v1/limits/requests", wish);
    const { id } = await json<{ id: string }>(filed);
    await tollgate.store.quotas.approve(id, { limits: { rpm: 120 } }, clock.wallMs());
    const limit = async (): Promise<string | null> =>
      (await tollgate.call(account, "/v1/credits/balance")).headers.get("x-ratelimit-limit-requests");
    clock.advance(2_000);
    expect(await limit()).toBe("120");
    const payment = { transferId: "pay", accountId: account.accountId, amountMicros: 500_000_000n };
    await tollgate.store.accounts.topUp({ ...payment, nowMs: clock.wallMs() });
    clock.advance(2_000);
    expect(await limit()).toBe("3000");
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
      expect((await json<{ error: string }>(response)).error).toContain(field);
    }
    for (let filed = 0; filed < 5; filed++) {
      expect((await tollgate.post(account, "/v1/limits/requests", good)).status).toBe(200);
    }
    const oneMore = await tollgate.post(account, "/v1/limits/requests", good);
    expect(oneMore.status).toBe(400);
    expect(await oneMore.text()).toContain("5 applications");
  });
});
