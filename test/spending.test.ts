// Money as a caller meets it: through HTTP, against the sandbox's own book, on books that are audited afterwards.

import { Database } from "bun:sqlite";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { isSold } from "../gateway/src/operation/operation.ts";
import { createForwarder } from "../gateway/src/upstreams/forwarder.ts";
import { httpClient } from "../gateway/src/upstreams/http-client.ts";
import { protocols } from "../gateway/src/upstreams/protocols.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "./harness.ts";

const snapshotPath = "/apis/v1/financial/financial-metrics/snapshot?ticker=AAPL";
const snapshotMicros = 48_000;
const roomy = "tiers: { growth: { rpm: 1000000, tpm: 1000000000, concurrency: 10000 } }";

interface Wish {
  readonly query?: string;
  readonly body?: object;
}

/** The least each sold operation can be asked for. A new operation without a line here fails its tests. */
const leastRequests: Readonly<Record<string, Wish>> = {
  "financial.metrics.snapshot": { query: "?ticker=AAPL" },
  "reseller.social_c.creator_search_insights_videos": { query: "?keyword=tea" },
  "reseller.social_c.search_word_suggestion": { query: "?search_word=tea" },
  "reseller.social_c.tag_detail": { query: "?tag_name=tea" },
  "reseller.social_b.user_stories": { query: "?username=someone" },
  "rerank.create": { body: { query: "tea", documents: ["green tea", "a car"] } },
  "chat.completions.create": {
    body: { model: "gpt-4o", messages: [{ role: "user", content: "Say hello." }], max_tokens: 200 },
  },
};

interface Sold {
  readonly id: string;
  readonly send: (account: TestAccount, headers?: Readonly<Record<string, string>>) => Promise<Response>;
}

let gateway: TestGateway;
let sold: readonly Sold[];

beforeAll(async () => {
  gateway = await openTestGateway({ config: roomy });
  sold = soldBy(gateway);
});
afterAll(() => gateway.close());
beforeEach(() => gateway.sandbox.clear());
afterEach(async () => expect(await gateway.audit()).toEqual([]));

function soldBy(at: TestGateway): readonly Sold[] {
  return at.gateway.offer().routes.all.flatMap(({ operation, path }) => {
    if (!isSold(operation)) return [];
    const wish = leastRequests[operation.id];
    if (!wish) throw new Error(`leastRequests has no line for ${operation.id}.`);
    const send: Sold["send"] = (account, headers = {}) =>
      wish.body
        ? at.post(account, path, wish.body, headers)
        : at.call(account, path + (wish.query ?? ""), { method: operation.method, headers });
    return [{ id: operation.id, send }];
  });
}

const jsonOf = async (response: Response): Promise<Record<string, unknown>> =>
  (await response.json()) as Record<string, unknown>;

const usdOf = (micros: number): string => (micros / 1_000_000).toFixed(6);
const costOf = (response: Response): string | null => response.headers.get("x-tollgate-cost-micros-usd");
const quoting = { "x-tollgate-cost-mode": "quote" };

interface Quote {
  readonly estimated_cost_micros_usd: number;
  readonly max_cost_micros_usd: number;
  readonly price_version: string;
}

const quoteOf = async (one: Sold, account: TestAccount): Promise<Quote> => {
  const response = await one.send(account, quoting);
  expect(response.status).toBe(200);
  return (await response.json()) as Quote;
};

interface ReceiptBody {
  readonly request_id: string;
  readonly operation_id: string;
  readonly status: string;
  readonly outcome: string;
  readonly price_version: string;
  readonly held_micros_usd: number;
  readonly usage_value_micros_usd: number;
  readonly charged_micros_usd: number;
}

const receiptOf = async (account: TestAccount, response: Response): Promise<ReceiptBody> => {
  const id = response.headers.get("x-request-id") ?? "";
  return (await (await gateway.call(account, `/v1/requests/${id}`)).json()) as ReceiptBody;
};

async function allReceipts(account: TestAccount): Promise<ReceiptBody[]> {
  const receipts: ReceiptBody[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const query = `?limit=7${cursor === "" ? "" : `&cursor=${cursor}`}`;
    const page = await jsonOf(await gateway.call(account, `/v1/requests${query}`));
    receipts.push(...(page["data"] as ReceiptBody[]));
    cursor = page["next_cursor"] as string | null;
  }
  return receipts;
}

const usageOf = async (account: TestAccount): Promise<Record<string, number>> => {
  const start = Math.floor(Date.now() / 1_000) - 3_600;
  const report = await jsonOf(await gateway.call(account, `/v1/usage?start_time=${start}`));
  return report["totals"] as Record<string, number>;
};

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
      expect(await jsonOf(response)).toEqual({
        error: {
          code: "insufficient_balance",
          message: "The call may cost 48000 micro-USD; 0 are available.",
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

  test("the very first request of a new account is held like any other", async () => {
    const accounts = await Promise.all(
      Array.from({ length: 10 }, () => gateway.openAccount({ creditUsd: "0.047999" })),
    );
    const responses = await Promise.all(accounts.map((account) => gateway.call(account, snapshotPath)));
    expect(responses.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 402));
    expect(await gateway.sandbox.book()).toEqual([]);
  });

  test("every route on sale holds before it sends: none is served beyond the balance", async () => {
    expect(sold.length).toBeGreaterThanOrEqual(7);
    const asking = await gateway.openAccount();
    for (const one of sold) {
      await gateway.sandbox.clear();
      const { max_cost_micros_usd: most } = await quoteOf(one, asking);
      expect(most).toBeGreaterThan(0);
      const poor = await gateway.openAccount({ creditUsd: usdOf(most - 1) });
      const turnedAway = await one.send(poor);
      expect([one.id, turnedAway.status]).toEqual([one.id, 402]);
      expect(await gateway.sandbox.book()).toEqual([]);

      // While the upstream thinks, both holds are open, and no third one fits.
      await gateway.sandbox.fault({ latency_ms: 150, times: 20 });
      const account = await gateway.openAccount({ creditUsd: usdOf(2 * most) });
      const responses = await Promise.all(Array.from({ length: 12 }, () => one.send(account)));
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
    const inner = createForwarder(httpClient, protocols);
    const seen: unknown[] = [];
    const watched = await openTestGateway({
      config: roomy,
      parts: {
        forwarder: {
          ...inner,
          dispatch: (wanted) => {
            const other = new Database(watched.databasePath, { readonly: true });
            seen.push(other.query("SELECT state, held_micros FROM call WHERE id = ?1").get(wanted.callId));
            other.close();
            return inner.dispatch(wanted);
          },
        },
      },
    });
    try {
      const account = await watched.openAccount();
      await Promise.all(Array.from({ length: 20 }, () => watched.call(account, snapshotPath)));
      expect(seen).toHaveLength(20);
      for (const row of seen) expect(row).toMatchObject({ held_micros: snapshotMicros });
    } finally {
      await watched.close();
    }
  });
});

describe("what a call costs", () => {
  test("a plan's multiplier applies to hold, charge and quote, but not to the value", async () => {
    const account = await gateway.openAccount({ planMultiplierPpm: 1_450_000n });
    const response = await gateway.call(account, snapshotPath);
    expect([response.status, costOf(response)]).toEqual([200, "69600"]);
    expect(await receiptOf(account, response)).toMatchObject({
      held_micros_usd: 69_600,
      usage_value_micros_usd: 48_000,
      charged_micros_usd: 69_600,
    });
    expect(await gateway.balance(account)).toEqual({ balance: 2_000_000 - 69_600, held: 0 });
    const quoted = await jsonOf(await gateway.call(account, snapshotPath, { headers: quoting }));
    expect([quoted["estimated_cost_micros_usd"], quoted["max_cost_micros_usd"]]).toEqual([69_600, 69_600]);
  });

  test("a quote costs nothing, sends nothing, counts nothing, and names the later hold", async () => {
    for (const one of sold) {
      await gateway.sandbox.clear();
      const account = await gateway.openAccount();
      const quoted = await quoteOf(one, account);
      expect(await gateway.sandbox.book()).toEqual([]);
      expect(await allReceipts(account)).toEqual([]);
      expect(await gateway.balance(account)).toEqual({ balance: 2_000_000, held: 0 });
      expect(await usageOf(account)).toMatchObject({ requests: 0, charged_micros_usd: 0 });

      const response = await one.send(account);
      expect([one.id, response.status]).toEqual([one.id, 200]);
      const receipt = await receiptOf(account, response);
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
      const { error } = (await jsonOf(refused)) as { error: Record<string, unknown> };
      expect(error).toMatchObject({
        code: "estimated_price_exceeds_max_price",
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
    const receipts = await allReceipts(account);
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
        });
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

describe("one truth", () => {
  test("usage, balance, receipts, answers, the ledger and the upstream's book agree after any mix", async () => {
    const account = await gateway.openAccount({ creditUsd: "5", planMultiplierPpm: 1_450_000n });
    const costs = new Map<string, number>();
    let refused = 0;
    const answered = async (response: Response): Promise<void> => {
      const cost = costOf(response);
      if (cost === null) refused++;
      else costs.set(response.headers.get("x-request-id") ?? "", Number(cost));
      await response.arrayBuffer();
    };
    for (let round = 0; round < 12; round++) {
      if (round % 3 === 1) await gateway.sandbox.fault({ status: 503, times: 3 });
      if (round % 4 === 2) await gateway.sandbox.fault({ json_patch: { code: 301 }, times: 2 });
      const mix = Array.from({ length: 10 }, (_, at) => sold[(at * 5 + round * 3) % sold.length]);
      await Promise.all(mix.map(async (one) => one && answered(await one.send(account))));
      await answered(await gateway.call(account, "/apis/v1/financial/financial-metrics/snapshot"));
    }

    const receipts = await allReceipts(account);
    const charged = receipts.reduce((sum, receipt) => sum + receipt.charged_micros_usd, 0);
    const paid = receipts.filter((receipt) => receipt.charged_micros_usd > 0);
    expect(charged).toBeGreaterThan(1_000_000);
    expect(receipts).toHaveLength(120);
    expect(refused).toBeGreaterThanOrEqual(12);

    for (const [id, cost] of costs) {
      const receipt = receipts.find((one) => one.request_id === id);
      expect([id, receipt?.charged_micros_usd]).toEqual([id, cost]);
    }
    expect([...costs.values()].reduce((sum, cost) => sum + cost, 0)).toBe(charged);

    const balance = await jsonOf(await gateway.call(account, "/v1/credits/balance"));
    expect(balance).toMatchObject({ balance_micros_usd: 5_000_000 - charged, held_micros_usd: 0 });
    expect(await gateway.balance(account)).toEqual({ balance: 5_000_000 - charged, held: 0 });
    expect(await usageOf(account)).toMatchObject({
      requests: receipts.length,
      failed_requests: receipts.filter((receipt) => receipt.outcome !== "succeeded").length,
      charged_micros_usd: charged,
      usage_value_micros_usd: receipts.reduce((sum, receipt) => sum + receipt.usage_value_micros_usd, 0),
    });

    const book = await gateway.sandbox.book();
    const sent = book.map((entry) => entry.request_id);
    expect(new Set(sent).size).toBe(sent.length);
    for (const receipt of paid) expect(sent).toContain(receipt.request_id);
  });
});
