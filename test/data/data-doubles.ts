// Vendors of data, doubled, and a gateway that asks them with keys of its operator's.

import { afterAll, afterEach, expect } from "bun:test";
import { openScrapeCreatorsDouble } from "../doubles/scrapecreators.ts";
import { openSimilarwebDouble } from "../doubles/similarweb.ts";
import { openTwitterApiDouble } from "../doubles/twitterapi.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";

export const keys = {
  scrapecreators: "sc-operator-000000000000000000",
  twitterapi: "ta-operator-000000000000000000",
  similarweb: "sw-operator-000000000000000000",
} as const;

export type VendorName = keyof typeof keys;

export const commentsPath = "/apis/v1/social_b/post/comments";
export const quotesPath = "/apis/v1/social_a/tweet/quotes";
export const trafficPath = "/apis/v1/traffic_analytics/website/traffic-engagement";
export const months = "start_date=2025-11&end_date=2026-01";

interface Quote {
  readonly operation_id: string;
  readonly estimate_kind: string;
  readonly estimated_cost_micros_usd: number;
  readonly max_cost_micros_usd: number;
  readonly may_exceed_estimate: boolean;
}

export const quoting = { "x-tollgate-cost-mode": "quote" };
export const untouched = { balance: 2_000_000, held: 0 };

/** To be called once in a file of tests; the books are audited after each. */
export async function useDataDoubles() {
  const doubles = {
    scrapecreators: await openScrapeCreatorsDouble({ key: keys.scrapecreators }),
    twitterapi: await openTwitterApiDouble({ key: keys.twitterapi }),
    similarweb: await openSimilarwebDouble({ key: keys.similarweb }),
  };
  const gateway = await openTestGateway({ config: configFor((vendor) => doubles[vendor].url) });

  afterEach(async () => {
    expect(await gateway.audit()).toEqual([]);
  });
  afterAll(async () => {
    expect(await gateway.sandbox.book()).toEqual([]);
    for (const double of Object.values(doubles)) {
      expect(double.violations).toEqual([]);
      await double.close();
    }
    await gateway.close();
  });

  const receiptOf = (account: TestAccount, response: Response, at = gateway) => at.receipt(account, response);

  return {
    doubles,
    gateway,
    receiptOf,
    quoteFor: async (account: TestAccount, target: string, at: TestGateway = gateway): Promise<Quote> =>
      (await (await at.call(account, target, { headers: quoting })).json()) as Quote,
    /** One call against a vendor that answers as told: the receipt says what it cost. */
    answeredWith: async (name: VendorName, target: string, body: unknown) => {
      const account = await gateway.openAccount({ creditUsd: "100" });
      const text = JSON.stringify(body);
      doubles[name].answerNext({ status: 200, headers: { "Content-Type": "application/json" }, body: text });
      const response = await gateway.call(account, target);
      expect([response.status, await response.text()]).toEqual([200, text]);
      const receipt = await receiptOf(account, response);
      expect(response.headers.get("x-tollgate-cost-micros-usd")).toBe(String(receipt.charged_micros_usd));
      return receipt;
    },
  };
}

/** A gateway whose vendors are the sandbox, with nothing of one test left for the next. */
export async function useSandboxed(): Promise<TestGateway> {
  const sandboxed = await openTestGateway();
  afterEach(async () => {
    expect(await sandboxed.audit()).toEqual([]);
    await sandboxed.sandbox.clear();
  });
  afterAll(() => sandboxed.close());
  return sandboxed;
}

const configFor = (url: (vendor: VendorName) => string): string => `
upstreams:
  comments: { protocol: scrapecreators, url: "${url("scrapecreators")}", key: "${keys.scrapecreators}", timeout_ms: 2000 }
  quotes: { protocol: twitterapi, url: "${url("twitterapi")}", key: "${keys.twitterapi}", timeout_ms: 2000 }
  traffic: { protocol: similarweb, url: "${url("similarweb")}", key: "${keys.similarweb}", timeout_ms: 2000 }
`;
