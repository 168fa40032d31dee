import { expect, test } from "bun:test";
import { anyNumber, anyString, at, createTestSandbox, matching } from "../test-sandbox.ts";

const path = "/scrapecreators/instagram/post/comments";
const post = `${path}?url=https://www.instagram.com/p/abc/`;

test("a page has the envelope and the comments of the specification, the same every time", async () => {
  const { ask, book } = createTestSandbox();
  const { status, json } = await ask("GET", post);
  expect(status).toBe(200);
  expect(json).toMatchObject({
    success: true,
    credits_remaining: 999_999,
    credits_charged: 1,
    cursor: anyString,
  });
  expect(at(json, "comments", 0)).toEqual({
    id: matching(/^\d{17}$/),
    text: anyString,
    created_at: matching(/^2025-12-31T[\d:.]+Z$/),
    comment_like_count: anyNumber,
    child_comment_count: anyNumber,
    user: {
      is_verified: expect.any(Boolean) as unknown,
      id: anyString,
      pk: anyString,
      is_unpublished: null,
      profile_pic_url: matching(/^https:/),
      username: anyString,
      fbid_v2: anyString,
    },
  });
  expect((await createTestSandbox().ask("GET", post)).json).toEqual(json);
  expect(book.read().entries[0]?.billed).toEqual({ credits: 1 });
});

test("pages follow one another and end", async () => {
  const { ask } = createTestSandbox();
  const ids: unknown[] = [];
  let pages = 0;
  for (let cursor: string | null = ""; cursor !== null; pages++) {
    const { json } = await ask("GET", `${post}&cursor=${cursor}`);
    const comments = at(json, "comments");
    if (!Array.isArray(comments)) throw new Error("no comments");
    ids.push(...comments.map((comment) => at(comment, "id")));
    cursor = at(json, "cursor") as string | null;
    expect(pages).toBeLessThan(6);
  }
  expect(pages).toBeGreaterThan(1);
  expect(new Set(ids).size).toBe(ids.length);
});

test("refuses in the vendor's shape, and bills nothing", async () => {
  const { ask, book } = createTestSandbox();
  for (const [target, status] of [
    [path, 400],
    [`${post}&cursor=nonsense`, 400],
    [`${path}?url=https://x.test/missing`, 404],
    ["/scrapecreators/other", 404],
  ] as const) {
    expect(await ask("GET", target)).toMatchObject({
      status,
      json: { success: false, error: anyString, errorStatus: status, message: anyString },
    });
  }
  expect((await ask("GET", post, { headers: {} })).status).toBe(401);
  expect((await ask("POST", post)).status).toBe(405);
  expect(book.read().entries.every(({ billed }) => billed === null)).toBe(true);
});
