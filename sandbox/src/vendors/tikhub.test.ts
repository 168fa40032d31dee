import { describe, expect, test } from "bun:test";
import {
  anyList,
  anyNumber,
  anyObject,
  anyString,
  at,
  containing,
  createTestSandbox,
  matching,
  startMs,
} from "../test-sandbox.ts";

const videos = "/tikhub/tiktok/app/v3/fetch_creator_search_insights_videos";
const words = "/tikhub/tiktok/shop/web/fetch_search_word_suggestion_v2";
const tag = "/tikhub/tiktok/web/fetch_tag_detail";
const stories = "/tikhub/instagram/v2/fetch_user_stories";

describe("tikhub", () => {
  test("answers in the reseller's full envelope", async () => {
    const { ask, book } = createTestSandbox();
    const { status, json } = await ask("GET", `${tag}?tag_name=cats&extra=1`);
    expect(status).toBe(200);
    expect(json).toEqual({
      code: 200,
      request_id: matching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
      message: "Request successful. This request will incur a charge.",
      message_zh: "请求成功，本次请求将被计费。",
      support: anyString,
      time: "2026-11-15 02:12:50",
      time_stamp: startMs / 1000,
      time_zone: "America/Los_Angeles",
      docs: matching(/^https:/),
      cache_message: containing("24 hours"),
      cache_message_zh: containing("24 小时"),
      cache_url: matching(/^http:\/\/gate\.test\/s\/reseller-cache\/[0-9a-f]{40}$/),
      router: "/api/v1/tiktok/web/fetch_tag_detail",
      params: { tag_name: "cats", extra: "1" },
      data: {
        challengeInfo: {
          challenge: {
            id: matching(/^\d+$/),
            title: "cats",
            desc: "",
            profileLarger: "",
            isCommerce: false,
            stats: { videoCount: anyNumber, viewCount: anyNumber },
          },
        },
      },
    });
    expect(book.read().entries[0]?.billed).toEqual({ calls: 1 });
  });

  test("pages of videos follow one another and end", async () => {
    const { ask } = createTestSandbox();
    const ids: unknown[] = [];
    let pages = 0;
    for (let offset = 0, more = true; more; pages++) {
      const { json } = await ask("GET", `${videos}?keyword=cats&offset=${offset}&count=10`);
      const list = at(json, "data", "data");
      if (!Array.isArray(list)) throw new Error("no list");
      ids.push(...list.map((item) => at(item, "aweme_info", "aweme_id")));
      more = at(json, "data", "has_more") === 1;
      offset = Number(at(json, "data", "cursor"));
    }
    expect(pages).toBeGreaterThan(2);
    expect(pages).toBeLessThan(12);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.every((id) => typeof id === "string" && id.length === 19)).toBe(true);
    expect((await ask("GET", `${videos}?keyword=cats&offset=100000`)).json).toMatchObject({
      data: { has_more: 0, data: [] },
    });
  });

  test("suggests words, and lists stories of the last day", async () => {
    const { ask } = createTestSandbox();
    const suggested = at((await ask("GET", `${words}?search_word=lamp`)).json, "data");
    expect(at(suggested, "data")).toContain("lamp");
    expect(suggested).toEqual({ code: 0, message: "", data: anyList });

    const listed = at((await ask("GET", `${stories}?username=ada`)).json, "data", "items");
    if (!Array.isArray(listed)) throw new Error("no list");
    expect(listed.length).toBeGreaterThan(0);
    for (const story of listed) {
      expect(story).toMatchObject({ pk: anyString, media_type: anyNumber, image_versions2: anyObject });
      expect(Number(at(story, "expiring_at"))).toBeGreaterThan(startMs / 1000);
    }
  });

  test("refuses a missing or malformed parameter as its framework does", async () => {
    const { ask, book } = createTestSandbox();
    const detail = (name: string) => ({
      detail: [{ loc: ["query", name], msg: anyString, type: anyString }],
    });
    expect(await ask("GET", videos)).toMatchObject({ status: 422, json: detail("keyword") });
    expect(await ask("GET", `${videos}?keyword=a&count=x`)).toMatchObject({
      status: 422,
      json: detail("count"),
    });
    expect(await ask("GET", words)).toMatchObject({ status: 422, json: detail("search_word") });
    expect(await ask("GET", `${tag}?tag_name=`)).toMatchObject({ status: 422, json: detail("tag_name") });
    expect(await ask("GET", stories)).toMatchObject({ status: 422, json: detail("username") });
    expect(book.read().entries.every(({ billed }) => billed === null)).toBe(true);
  });

  test("refuses unknown tags, keys and paths with a detail object", async () => {
    const { ask } = createTestSandbox();
    expect(await ask("GET", `${tag}?tag_name=missing1`)).toMatchObject({
      status: 400,
      json: { detail: { code: 400, message: anyString } },
    });
    expect(await ask("GET", `${tag}?tag_name=a`, { headers: {} })).toMatchObject({
      status: 401,
      json: { detail: { code: 401 } },
    });
    expect(await ask("GET", "/tikhub/other")).toMatchObject({ status: 404, json: { detail: { code: 404 } } });
  });

  test("the cache link gives the same answer for a day, without a key and outside the book", async () => {
    const { ask, book, clock } = createTestSandbox();
    const { json } = await ask("GET", `${videos}?keyword=cats`);
    const link = String(at(json, "cache_url")).replace("http://gate.test/s", "/public");

    clock.ms += 24 * 3_600_000 - 1;
    expect(await ask("GET", link, { headers: {} })).toMatchObject({ status: 200, json: json as object });
    clock.ms += 1;
    expect((await ask("GET", link, { headers: {} })).status).toBe(404);
    expect(book.read().count).toBe(1);
  });

  test("the link cannot be derived without the secret", async () => {
    const linkOf = async (secret: string): Promise<unknown> =>
      at((await createTestSandbox({ secret }).ask("GET", `${tag}?tag_name=x`)).json, "cache_url");
    const link = await linkOf("a");
    expect(link).toStartWith("http://gate.test/s/");
    expect(await linkOf("a")).toBe(link);
    expect(await linkOf("b")).not.toBe(link);
  });
});
