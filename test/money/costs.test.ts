// What a call costs is what was quoted, held, charged and written on its receipt, for every operation on sale.

import { expect, test } from "bun:test";
import { json } from "../support/answers.ts";
import { snapshotPath } from "../support/purchases.ts";
import type { TestAccount } from "../support/test-gateway.ts";
import { costOf, quoting, usdOf, useSoldOperations, type Quote } from "./sold-operations.ts";

const { gateway, sold, quoteOf, receiptsOf, usageOf } = await useSoldOperations();

test("a plan's multiplier applies to hold, charge and quote, but not to the value", async () => {
  const account = await gateway.openAccount({ planMultiplierPpm: 1_450_000n });
  const response = await gateway.call(account, snapshotPath);
  expect([response.status, costOf(response)]).toEqual([200, "69600"]);
  expect(await gateway.receipt(account, response)).toMatchObject({
    held_micros_usd: 69_600,
    usage_value_micros_usd: 48_000,
    charged_micros_usd: 69_600,
  });
  expect(await gateway.balance(account)).toEqual({ balance: 2_000_000 - 69_600, held: 0 });
  const quoted = await json<Record<string, unknown>>(
    gateway.call(account, snapshotPath, { headers: quoting }),
  );
  expect([quoted["estimated_cost_micros_usd"], quoted["max_cost_micros_usd"]]).toEqual([69_600, 69_600]);
  expect(quoted["plan_multiplier"]).toBe("1.45");
});

test("the lines of a quote add up to its estimate, whatever the plan", async () => {
  const linesOf = async (account: TestAccount, words: number): Promise<number[]> => {
    const body = {
      model: "gpt-4o-mini",
      max_tokens: 100,
      messages: [{ role: "user", content: "x".repeat(words) }],
    };
    const response = await gateway.post(account, "/v1/chat/completions", body, quoting);
    const quoted = await json<Quote>(response);
    const lines = quoted.breakdown.map((line) => line.cost_micros_usd);
    expect(lines.reduce((sum, line) => sum + line)).toBe(quoted.estimated_cost_micros_usd);
    return lines;
  };
  for (const planMultiplierPpm of [1_000_000n, 1_450_000n]) {
    const account = await gateway.openAccount({ planMultiplierPpm });
    for (const words of [1, 33, 90, 150]) expect(await linesOf(account, words)).toHaveLength(2);
  }
});

test("a quote costs nothing, sends nothing, counts nothing, and names the later hold", async () => {
  for (const one of sold) {
    await gateway.sandbox.clear();
    const account = await gateway.openAccount();
    const quoted = await quoteOf(one, account);
    expect([one.id, quoted.may_exceed_estimate]).toEqual([
      one.id,
      quoted.max_cost_micros_usd > quoted.estimated_cost_micros_usd,
    ]);
    expect(await gateway.sandbox.book()).toEqual([]);
    expect(await receiptsOf(account)).toEqual([]);
    expect(await gateway.balance(account)).toEqual({ balance: 2_000_000, held: 0 });
    expect(await usageOf(account)).toMatchObject({ requests: 0, charged_micros_usd: 0 });

    const response = await one.send(account);
    expect([one.id, response.status]).toEqual([one.id, 200]);
    const receipt = await gateway.receipt(account, response);
    expect([one.id, receipt.held_micros_usd]).toEqual([one.id, quoted.max_cost_micros_usd]);
    expect(receipt.price_version).toBe(quoted.price_version);
    expect(receipt.charged_micros_usd).toBeLessThanOrEqual(quoted.max_cost_micros_usd);
    expect(costOf(response)).toBe(String(receipt.charged_micros_usd));
  }
});

test("a cap below the worst case is refused with nothing spent, the worst case itself is not", async () => {
  for (const one of sold) {
    await gateway.sandbox.clear();
    const account = await gateway.openAccount();
    const { max_cost_micros_usd: most } = await quoteOf(one, account);
    const capped = (usd: string) => one.send(account, { "x-tollgate-max-price-usd": usd });
    const refused = await capped(usdOf(most - 1));
    expect([one.id, refused.status]).toEqual([one.id, 402]);
    const { error } = await json<{ error: Record<string, unknown> }>(refused);
    expect(error["reason"] ?? error["code"]).toBe("estimated_price_exceeds_max_price");
    expect(error).toMatchObject({
      retryable: false,
      estimated_micros_usd: most,
      limit_micros_usd: most - 1,
    });
    // A cap is rounded down: a hair below a micro is the micro before.
    expect((await capped(`${usdOf(most - 1)}999999`)).status).toBe(402);
    for (const unreadable of ["-1", "1e2", "much", "0x1"])
      expect((await capped(unreadable)).status).toBe(400);
    expect(await gateway.sandbox.book()).toEqual([]);
    expect(await gateway.balance(account)).toEqual({ balance: 2_000_000, held: 0 });
    expect((await capped(usdOf(most))).status).toBe(200);
  }
});

test("a call whose upstream fails costs nothing and counts as failed", async () => {
  const account = await gateway.openAccount();
  let failed = 0;
  for (const one of sold) {
    for (const fault of [{ status: 500 }, { status: 404 }, { mode: "close" }, { status: 429 }]) {
      await gateway.sandbox.clear();
      await gateway.sandbox.fault({ ...fault, times: 5 });
      const response = await one.send(account);
      expect(response.status).toBeGreaterThanOrEqual(400);
      expect(["0", null]).toContain(costOf(response));
      failed++;
    }
  }
  expect(await gateway.balance(account)).toEqual({ balance: 2_000_000, held: 0 });
  expect(await usageOf(account)).toMatchObject({
    requests: failed,
    failed_requests: failed,
    charged_micros_usd: 0,
    usage_value_micros_usd: 0,
  });
  const receipts = await receiptsOf(account);
  expect(receipts.map(({ status }) => status)).toEqual(receipts.map(() => "released"));
});

test("a reseller's envelope that does not say 200 is not paid for", async () => {
  const account = await gateway.openAccount();
  const one = sold.find(({ id }) => id === "reseller.social_c.tag_detail");
  for (const code of [400, "200", 200.5, null]) {
    await gateway.sandbox.fault({ json_patch: { code } });
    const response = await one?.send(account);
    expect(response?.status).toBe(200);
    expect(response && costOf(response)).toBe("0");
  }
  expect(await gateway.balance(account)).toEqual({ balance: 2_000_000, held: 0 });
  expect(await usageOf(account)).toMatchObject({ requests: 4, failed_requests: 4 });
});
