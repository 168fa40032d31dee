// Limits of single operations, from the catalogue or of the operator's own.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json, type Limited } from "../support/answers.ts";
import { projectFolder } from "../support/project-folder.ts";
import { snapshotPath } from "../support/purchases.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";
import { until } from "../support/until.ts";
import { createVirtualClock } from "../support/virtual-clock.ts";

describe("limits of an operation's own", () => {
  const clock = createVirtualClock();
  const folder = mkdtempSync(join(tmpdir(), "tollgate-catalogue-"));
  let tollgate: TestGateway;

  beforeAll(async () => {
    writeFileSync(
      join(folder, "slow.ts"),
      `import { defineOperation, fixed, z } from ${JSON.stringify(join(projectFolder, "gateway/src/for-catalogues.ts"))};
       const common = { category: "data", method: "GET", query: z.looseObject({}), price: fixed("0.001"),
         servedBy: { financialdatasets: { exchange: "forward_query", path: "/financial-metrics/snapshot" } } } as const;
       export const few = defineOperation({ ...common, id: "test.few", title: "Few", summary: "Few a minute.",
         path: "/apis/v1/test/few", limits: { rpm: { group: "few", limit: 5 } } });
       export const slots = defineOperation({ ...common, id: "test.slots", title: "Slots", summary: "Takes a slot.",
         path: "/apis/v1/test/slots", limits: { slot: "always" } });`,
    );
    tollgate = await openTestGateway({ clock, catalogueFolders: [folder] });
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
    clock.advance(59_999);
    expect((await tollgate.call(account, "/apis/v1/test/few?ticker=A")).status).toBe(429);
    clock.advance(1);
    expect((await tollgate.call(account, "/apis/v1/test/few?ticker=A")).status).toBe(200);
  });

  test("concurrency is a number of leases: full is 429 quota_exceeded, and every way a call ends frees its place", async () => {
    const account = await tollgate.openAccount({ tier: "free" });
    const slots = () => tollgate.call(account, "/apis/v1/test/slots?ticker=A");
    await tollgate.sandbox.fault({ path_contains: "snapshot", latency_ms: 1_000, times: 5 });
    const running = Array.from({ length: 5 }, slots);
    await tollgate.sandbox.busyWith(5);
    const refused = await slots();
    expect(refused.status).toBe(429);
    const { error } = await json<Limited>(refused);
    expect(error.code).toBe("quota_exceeded");
    expect(error.limit).toMatchObject({ name: "concurrency", limit: 5, remaining: 0 });
    // Of sixty requests a minute five run; the refused one took nothing, and its answer says so.
    expect(refused.headers.get("x-ratelimit-remaining-requests")).toBe("55");
    const retryAfter = Number(refused.headers.get("retry-after"));
    expect(retryAfter).toBeGreaterThanOrEqual(1);
    // A place is free again when a call ends; its lease, of some hours, only bounds one that never does.
    const nowSeconds = Math.ceil(clock.wallMs() / 1000);
    expect(error.limit.reset).toBe(nowSeconds + retryAfter);
    expect((await concurrencyOf(account))?.reset).toBe(nowSeconds);
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
    const concurrency = await concurrencyOf(account);
    expect(concurrency?.remaining).toBe(5);
    expect(concurrency?.reset).toBe(Math.ceil(clock.wallMs() / 1000));
    expect(concurrency?.applies_to).toContain("test.slots");
  });

  test("a call keeps its place for as long as it may run, which is hours", async () => {
    // The vendor answers when it is told to, however long the test takes until then.
    const told = Promise.withResolvers<void>();
    let asked = 0;
    const vendor = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: async () => {
        asked++;
        await told.promise;
        return Response.json({ snapshot: {} });
      },
    });
    const patient = await openTestGateway({
      clock,
      catalogueFolders: [folder],
      config: `upstreams: { held: { protocol: financialdatasets, url: "${vendor.url.origin}", key: "k" } }`,
    });
    try {
      const account = await patient.openAccount({ tier: "free" });
      const slots = () => patient.call(account, "/apis/v1/test/slots?ticker=A");
      const running = Array.from({ length: 5 }, slots);
      await until(() => asked === 5);
      clock.advance(2 * 60 * 60_000);
      expect((await slots()).status).toBe(429);
      told.resolve();
      expect((await Promise.all(running)).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
      expect((await slots()).status).toBe(200);
    } finally {
      told.resolve();
      await patient.close();
      await vendor.stop(true);
    }
  });

  const concurrencyOf = async (account: TestAccount) => {
    const report = await json<{
      limits: { name: string; remaining: number; reset: number; applies_to: readonly string[] }[];
    }>(tollgate.call(account, "/v1/limits"));
    return report.limits.find(({ name }) => name === "concurrency");
  };
});

test("an operator's own limit on an operation binds each key, and is shown among its limits and in the headers", async () => {
  const tollgate = await openTestGateway({
    config: `operations:
  financial.metrics.snapshot: { rpm: 2 }
  models.generate_content: { rpm: 1 }
  credits.balance: { rpm: 1 }`,
  });
  try {
    const [account, other] = [await tollgate.openAccount(), await tollgate.openAccount()];
    const report = await json<{ limits: object[] }>(tollgate.call(account, "/v1/limits"));
    for (const [id, limit] of [
      ["financial.metrics.snapshot", 2],
      ["models.generate_content", 1],
      // What the configuration leaves alone keeps the limit it came with.
      ["models.stream_generate_content", 30],
    ] as const) {
      expect(report.limits).toContainEqual(
        expect.objectContaining({
          name: "requests_per_minute",
          applies_to: [id],
          limit,
          remaining: limit,
        }) as object,
      );
    }
    const first = await tollgate.call(account, snapshotPath);
    expect([
      first.headers.get("x-ratelimit-limit-requests"),
      first.headers.get("x-ratelimit-remaining-requests"),
    ]).toEqual(["2", "1"]);
    expect((await tollgate.call(account, snapshotPath)).status).toBe(200);
    const refused = await tollgate.call(account, snapshotPath);
    expect(refused.status).toBe(429);
    // Whose limit it is, since the key has one of the same name.
    expect((await json<Limited>(refused)).error).toMatchObject({
      code: "rate_limit_exceeded",
      message: expect.stringContaining("requests per minute for financial.metrics.snapshot is 2.") as string,
      limit: {
        name: "requests_per_minute",
        applies_to: ["financial.metrics.snapshot"],
        limit: 2,
        remaining: 0,
      },
    });
    expect((await tollgate.call(other, snapshotPath)).status).toBe(200);
    expect((await tollgate.call(account, "/v1/credits/balance")).status).toBe(200);
    expect((await tollgate.call(account, "/v1/credits/balance")).status).toBe(429);
  } finally {
    await tollgate.close();
  }
});
