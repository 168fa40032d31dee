// The doubles of the data vendors, measured before they measure the gateway.

import { describe, expect, test } from "bun:test";
import { createKeeper, get, refusalOf } from "./exchange.ts";
import { openScrapeCreatorsDouble } from "./scrapecreators.ts";
import { openSimilarwebDouble } from "./similarweb.ts";
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
