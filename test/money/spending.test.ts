// Nobody spends more than they have or were allowed, however many call at once: through HTTP, on every route on sale.

import { describe, expect, test } from "bun:test";
import { nested, read } from "../bad-inputs/error-shapes.ts";
import { expectNothingHappened } from "../bad-inputs/nothing-happened.ts";
import { json } from "../support/answers.ts";
import { holdOnDisk } from "../support/hold-on-disk.ts";
import { snapshotMicros, snapshotPath } from "../support/purchases.ts";
import { sendAfter } from "../support/send-after.ts";
import { openTestGateway } from "../support/test-gateway.ts";
import { costOf, roomy, usdOf, useSoldOperations } from "./sold-operations.ts";

let beforeSending = async (): Promise<void> => {};
const { gateway, sold, quoteOf } = await useSoldOperations({ forwarder: sendAfter(() => beforeSending()) });

describe("never more than the balance", () => {
  test("of 50 callers at once on a balance for 10, 10 are served and 40 are refused", async () => {
    const account = await gateway.openAccount({ creditUsd: "0.48" });
    const responses = await Promise.all(
      Array.from({ length: 50 }, () => gateway.call(account, snapshotPath)),
    );
    const served = responses.filter(({ status }) => status === 200);
    const refused = responses.filter(({ status }) => status === 402);
    expect([served.length, refused.length]).toEqual([10, 40]);
    for (const response of served) expect(costOf(response)).toBe(String(snapshotMicros));
    for (const response of refused) {
      expect(await json(response)).toEqual({
        error: {
          code: "insufficient_balance",
          message: "The call may cost 0.048 USD; 0 USD are available.",
          retryable: false,
          estimated_micros_usd: 48_000,
          limit_micros_usd: 0,
        },
        request_id: response.headers.get("x-request-id"),
      });
      expect(costOf(response)).toBeNull();
    }
    expect(await gateway.balance(account)).toEqual({ balance: 0, held: 0 });

    const book = await gateway.sandbox.book();
    expect(book).toHaveLength(10);
    const servedIds = new Set(served.map((response) => response.headers.get("x-request-id")));
    expect(new Set(book.map((entry) => entry.request_id))).toEqual(servedIds);
  });

  test("a balance of nothing, or one micro short, pays for nothing", async () => {
    for (const available of [0, snapshotMicros - 1]) {
      const poor = await gateway.openAccount({ creditUsd: String(available / 1e6) });
      await expectNothingHappened(gateway, async () => {
        nested(402, "insufficient_balance", {
          retryable: false,
          estimated_micros_usd: snapshotMicros,
          limit_micros_usd: available,
        })(await read(gateway.call(poor, snapshotPath)));
      });
    }
  });

  test("of 500 calls at once on a balance for one, exactly one is served", async () => {
    const poor = await gateway.openAccount({ creditUsd: "0.048" });
    const answers = await Promise.all(
      Array.from({ length: 500 }, async () => read(gateway.call(poor, snapshotPath))),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 402)).toHaveLength(499);
    expect(await gateway.balance(poor)).toEqual({ balance: 0, held: 0 });
    expect(await gateway.sandbox.book()).toHaveLength(1);
  });

  test("the very first request of a new account is held like any other", async () => {
    const accounts = await Promise.all(
      Array.from({ length: 10 }, () => gateway.openAccount({ creditUsd: "0.047999" })),
    );
    const responses = await Promise.all(accounts.map((account) => gateway.call(account, snapshotPath)));
    expect(responses.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 402));
    expect(await gateway.sandbox.book()).toEqual([]);
  });

  test("every route on sale holds before it sends: none is served beyond the balance", async () => {
    const asking = await gateway.openAccount();
    for (const one of sold) {
      await gateway.sandbox.clear();
      const { max_cost_micros_usd: most } = await quoteOf(one, asking);
      expect(most).toBeGreaterThan(0);
      const poor = await gateway.openAccount({ creditUsd: usdOf(most - 1) });
      const turnedAway = await one.send(poor);
      expect([one.id, turnedAway.status]).toEqual([one.id, 402]);
      expect(await gateway.sandbox.book()).toEqual([]);

      // Nothing leaves for the upstream before all others are answered: both holds are open, and no third one fits.
      const leaving = Promise.withResolvers<void>();
      let waiting = 0;
      beforeSending = () => {
        if (++waiting > 2) leaving.resolve();
        return leaving.promise;
      };
      const account = await gateway.openAccount({ creditUsd: usdOf(2 * most) });
      let answered = 0;
      const asked = Array.from({ length: 12 }, async () => {
        const response = await one.send(account);
        if (++answered === 10) leaving.resolve();
        return response;
      });
      const responses = await Promise.all(asked);
      const statuses = responses.map(({ status }) => status).toSorted((a, b) => a - b);
      const expected = [200, 200, ...Array.from({ length: 10 }, () => 402)];
      expect([one.id, ...statuses]).toEqual([one.id, ...expected]);
      expect(await gateway.sandbox.book()).toHaveLength(2);
      const { balance, held } = await gateway.balance(account);
      expect(held).toBe(0);
      const costs = responses.map((response) => Number(costOf(response) ?? 0));
      expect(2 * most - balance).toBe(costs.reduce((sum, cost) => sum + cost, 0));
    }
  });

  test("a hold is on disk before the first byte leaves", async () => {
    const seen: unknown[] = [];
    const watched = await openTestGateway({
      config: roomy,
      parts: {
        forwarder: sendAfter(async (callId) => void seen.push(await holdOnDisk(watched.data, callId))),
      },
    });
    try {
      const account = await watched.openAccount();
      await Promise.all(Array.from({ length: 20 }, () => watched.call(account, snapshotPath)));
      expect(seen).toHaveLength(20);
      for (const heldMicros of seen) expect(heldMicros).toBe(snapshotMicros);
    } finally {
      await watched.close();
    }
  });
});

describe("never more than a key's budget", () => {
  const startMs = Date.UTC(2026, 10, 30, 23, 59, 30);

  for (const [window, renewsMs] of [
    ["day", Date.UTC(2026, 11, 1)],
    ["month", Date.UTC(2026, 11, 1)],
    ["total", undefined],
  ] as const) {
    const when = renewsMs === undefined ? "never renews" : "renews with its window";
    test(`a ${window} budget is a hard stop that names its numbers, and ${when}`, async () => {
      let nowMs = startMs;
      const own = await openTestGateway({
        config: roomy,
        clock: { wallMs: () => nowMs, monotonicMs: () => performance.now() },
      });
      try {
        const account = await own.openAccount({ budget: { limitMicros: 100_000n, window } });
        const responses = await Promise.all(
          Array.from({ length: 12 }, () => own.call(account, snapshotPath)),
        );
        expect(responses.filter(({ status }) => status === 200)).toHaveLength(2);
        const last = await own.call(account, snapshotPath);
        expect(last.status).toBe(402);
        const { error } = (await last.json()) as { error: Record<string, unknown> };
        expect(error).toMatchObject({
          code: "budget_exceeded",
          retryable: false,
          estimated_micros_usd: 48_000,
          limit_micros_usd: 100_000,
          spent_micros_usd: 96_000,
          held_micros_usd: 0,
          resets_at: renewsMs === undefined ? null : renewsMs / 1000,
        });
        // When to come back is no help for a call that is dearer than the whole budget.
        const anew = "It begins anew at 2026-12-01 00:00 UTC.";
        expect(String(error["message"]).includes(anew)).toBe(renewsMs !== undefined);
        const dear = await own.call(account, "/apis/v1/traffic_analytics/website/traffic-engagement");
        const { error: dearer } = (await dear.json()) as { error: Record<string, unknown> };
        expect([dear.status, dearer["code"]]).toEqual([402, "budget_exceeded"]);
        expect(dearer["message"]).not.toContain("begins anew");
        const balance = (await (await own.call(account, "/v1/credits/balance")).json()) as object;
        expect(balance).toMatchObject({
          balance_micros_usd: 2_000_000 - 96_000,
          budget: {
            window,
            limit_micros_usd: 100_000,
            spent_micros_usd: 96_000,
            remaining_micros_usd: 4_000,
          },
        });
        expect(await own.sandbox.book()).toHaveLength(2);

        nowMs = Date.UTC(2026, 11, 1) - 1;
        expect((await own.call(account, snapshotPath)).status).toBe(402);
        nowMs = renewsMs ?? Date.UTC(2030, 0, 1);
        expect((await own.call(account, snapshotPath)).status).toBe(renewsMs === undefined ? 402 : 200);
        expect(await own.audit()).toEqual([]);
      } finally {
        await own.close();
      }
    });
  }
});
