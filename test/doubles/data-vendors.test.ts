// The doubles of the data vendors, measured before they measure the gateway.

import { describe, expect, test } from "bun:test";
import { createKeeper, get, post, refusalOf } from "./exchange.ts";
import { openFinancialDatasetsDouble } from "./financialdatasets.ts";
import { openScrapeCreatorsDouble } from "./scrapecreators.ts";
import { openSimilarwebDouble } from "./similarweb.ts";
import { openTikHubDouble } from "./tikhub.ts";
import { openTwitterApiDouble } from "./twitterapi.ts";

const keep = createKeeper();
const read = async (answer: Promise<Response>): Promise<unknown> => (await answer).json();

describe("scrapecreators", () => {
  const key = { "x-api-key": "k-1" };

  test("answers page by page, and bills a credit for each", async () => {
    const vendor = await keep(openScrapeCreatorsDouble({ key: "k-1" }));
    const url = `${vendor.url}/instagram/post/comments?url=https://x.test/p/1`;
    const first = (await read(get(url, key))) as { success: boolean; cursor: string };
    expect(first).toMatchObject({ success: true, comments: [{}, {}] });
    expect(first).not.toHaveProperty("credits_charged");
    const next = `${url}&cursor=${encodeURIComponent(first.cursor)}`;
    expect(await read(get(next, key))).toMatchObject({ comments: [{}], cursor: null });
    expect(vendor.book.map(({ billed }) => billed)).toEqual([{ credits: 1 }, { credits: 1 }]);
  });

  test("refuses without key or url, and a lie about success bills nothing", async () => {
    const vendor = await keep(openScrapeCreatorsDouble({ key: "k-1", success: false, creditsCharged: 15 }));
    const url = `${vendor.url}/instagram/post/comments`;
    expect(await refusalOf(get(`${url}?url=a`))).toMatchObject({ status: 401, body: { success: false } });
    expect(await refusalOf(get(url, key))).toMatchObject({ status: 400, body: { errorStatus: 400 } });
    expect((await get(`${vendor.url}/other`, key)).status).toBe(404);
    expect(await read(get(`${url}?url=a`, key))).toMatchObject({ success: false, credits_charged: 15 });
    expect(vendor.book).toEqual([]);
  });
});

describe("twitterapi", () => {
  const key = { "X-API-Key": "k-1" };

  test("answers page by page, and bills what it listed", async () => {
    const vendor = await keep(openTwitterApiDouble({ key: "k-1" }));
    const url = `${vendor.url}/tweet/quotes?tweetId=1`;
    const first = (await read(get(url, key))) as { next_cursor: string };
    const next = `${url}&cursor=${encodeURIComponent(first.next_cursor)}`;
    expect(await read(get(next, key))).toMatchObject({ tweets: [{}], has_next_page: true, next_cursor: "" });
    expect(vendor.book.map(({ billed }) => billed)).toEqual([{ tweets: 2 }, { tweets: 1 }]);
  });

  test("refuses with a status, or with a 200 that calls itself an error", async () => {
    const vendor = await keep(openTwitterApiDouble({ key: "k-1", status: "error" }));
    const url = `${vendor.url}/tweet/quotes`;
    const error = { status: "error" };
    expect(await refusalOf(get(`${url}?tweetId=1`))).toMatchObject({ status: 401, body: error });
    expect(await refusalOf(get(url, key))).toMatchObject({ status: 400, body: error });
    expect(await refusalOf(get(`${url}?tweetId=404`, key))).toMatchObject({ status: 404, body: error });
    expect(await refusalOf(get(`${url}?tweetId=1&cursor=x`, key))).toMatchObject({
      status: 200,
      body: error,
    });
    expect(await refusalOf(get(`${url}?tweetId=1`, key))).toMatchObject({ status: 200, body: error });
    expect(vendor.book).toEqual([]);
  });
});

describe("similarweb", () => {
  const key = { "api-key": "k-1" };
  const path = "/website-analysis/websites/traffic-and-engagement";
  const query = "?domain=a.test&metrics=visits,bounce_rate&start_date=2025-11&end_date=2026-01";

  test("answers a row a month, and bills metrics by months", async () => {
    const vendor = await keep(openSimilarwebDouble({ key: "k-1" }));
    expect(await read(get(vendor.url + path + query, key))).toMatchObject({
      data: [
        { date: "2025-11-01", visits: 12.5, bounce_rate: 12.5 },
        { date: "2025-12-01" },
        { date: "2026-01-01" },
      ],
    });
    expect(vendor.book.map(({ billed }) => billed)).toEqual([{ credits: 6 }]);
  });

  test("refuses a wrong key, a missing parameter and a wrong span; without data it bills nothing", async () => {
    const vendor = await keep(openSimilarwebDouble({ key: "k-1", data: [] }));
    const url = vendor.url + path;
    expect((await get(url + query)).status).toBe(401);
    for (const wrong of [
      "",
      query.replace("2026-01", "2025-10"),
      query.replace("2025-11", "1999-01"),
      query.replace("2026-01", "2026-1"),
    ]) {
      expect(await refusalOf(get(url + wrong, key))).toMatchObject({
        status: 400,
        body: { meta: { status: "error" } },
      });
    }
    expect(await read(get(url + query, key))).toMatchObject({ data: [] });
    expect(vendor.book).toEqual([]);
  });
});

describe("tikhub", () => {
  test.each([
    ["/tiktok/app/v3/fetch_creator_search_insights_videos?keyword=cat&offset=0", "0.001"],
    ["/tiktok/shop/web/fetch_search_word_suggestion_v2?search_word=phone", "0.001"],
    ["/tiktok/web/fetch_tag_detail?tag_name=cat", "0.001"],
    ["/instagram/v2/fetch_user_stories?username=nasa", "0.002"],
  ])("%s answers the envelope and bills %s", async (path, usd) => {
    const vendor = await keep(openTikHubDouble({ key: "k-1" }));
    expect(vendor.url).toEndWith("/api/v1");
    const answer = await get(vendor.url + path);
    expect(answer.status).toBe(200);
    const [endpoint = "", query] = path.split("?");
    expect(await answer.json()).toMatchObject({
      code: 200,
      request_id: "tikhub-000000000001",
      message: "Request successful. This request will incur a charge.",
      router: `/api/v1${endpoint}`,
      params: Object.fromEntries(new URLSearchParams(query)),
      data: expect.anything() as unknown,
    });
    expect(vendor.book).toMatchObject([{ requestId: "tikhub-000000000001", billed: { endpoint, usd } }]);
  });

  test("refuses under `detail` and bills nothing", async () => {
    const vendor = await keep(openTikHubDouble({ key: "k-1" }));
    const tag = `${vendor.url}/tiktok/web/fetch_tag_detail`;
    const unkeyed = await get(`${tag}?tag_name=a`, {});
    expect(unkeyed.status).toBe(401);
    expect(await unkeyed.json()).toMatchObject({ detail: { code: 401, message: "Invalid API token." } });
    const incomplete = await get(tag);
    expect(incomplete.status).toBe(422);
    expect(await incomplete.json()).toMatchObject({
      detail: [{ loc: ["query", "tag_name"], type: "missing" }],
    });
    expect((await get(`${vendor.url}/instagram/v2/fetch_user_stories`)).status).toBe(400);
    expect((await get(`${vendor.url}/tiktok/web/other`)).status).toBe(404);
    expect((await post(`${tag}?tag_name=a`, {})).status).toBe(405);
    expect(vendor.book).toEqual([]);
  });

  test.each([
    ["200", 200],
    [400, 200],
    [200, 500],
  ])("code %p with HTTP %d is told but not billed", async (code, status) => {
    const vendor = await keep(openTikHubDouble({ key: "k-1", code, status }));
    const answer = await get(`${vendor.url}/tiktok/web/fetch_tag_detail?tag_name=a`);
    expect(answer.status).toBe(status);
    expect(await answer.json()).toHaveProperty("code", code);
    expect(vendor.book).toEqual([]);
  });
});

describe("financialdatasets", () => {
  const key = { "X-API-KEY": "k-1" };

  test("answers a snapshot by ticker or cik, and bills each", async () => {
    const vendor = await keep(openFinancialDatasetsDouble({ key: "k-1" }));
    const url = `${vendor.url}/financial-metrics/snapshot`;
    for (const query of ["ticker=AAPL", "cik=0000320193"]) {
      const answer = await get(`${url}?${query}`, key);
      expect(answer.status).toBe(200);
      expect(await answer.json()).toHaveProperty("snapshot.ticker", "AAPL");
    }
    expect(vendor.book).toMatchObject([{ billed: { calls: 1 } }, { billed: { calls: 1 } }]);
  });

  test("refuses a wrong key, an unknown ticker, and no ticker; sends a slash on", async () => {
    const vendor = await keep(openFinancialDatasetsDouble({ key: "k-1" }));
    const url = `${vendor.url}/financial-metrics/snapshot`;
    const unkeyed = await get(`${url}?ticker=AAPL`);
    expect(unkeyed.status).toBe(401);
    expect(await unkeyed.json()).toHaveProperty("error", "Unauthorized");
    const unknown = await get(`${url}?ticker=XXXX`, key);
    expect(unknown.status).toBe(404);
    expect(await unknown.json()).toEqual({ error: "Not Found", message: "Ticker XXXX not found" });
    expect((await get(url, key)).status).toBe(400);
    const slash = await get(`${url}/?ticker=AAPL`, key);
    expect(slash.status).toBe(307);
    expect(slash.headers.get("location")).toBe("/financial-metrics/snapshot?ticker=AAPL");
    expect(vendor.book).toEqual([]);
  });
});
