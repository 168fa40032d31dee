import { expect, test } from "bun:test";
import { anyString, at, createTestSandbox, matching } from "../test-sandbox.ts";

const path = "/twitterapi/tweet/quotes";
// Copied from the specification, to compare with.
const tweetFields =
  "type id url text source retweetCount replyCount likeCount quoteCount viewCount bookmarkCount createdAt lang isReply inReplyToId conversationId inReplyToUserId inReplyToUsername displayTextRange author entities quoted_tweet retweeted_tweet isLimitedReply";
const authorFields =
  "type userName url id name verifiedType profilePicture coverPicture description location createdAt automatedBy message unavailableReason isBlueVerified canDm hasCustomTimelines isTranslator possiblySensitive isAutomated unavailable followers following favouritesCount mediaCount statusesCount withheldInCountries pinnedTweetIds";

test("a tweet has every field of the specification, the same every time", async () => {
  const { ask } = createTestSandbox();
  const { status, json } = await ask("GET", `${path}?tweetId=1846987139428634858`);
  expect([status, at(json, "status"), at(json, "has_next_page")]).toEqual([200, "success", true]);
  const tweet = at(json, "tweets", 0) as object;
  expect(Object.keys(tweet).toSorted()).toEqual(tweetFields.split(" ").toSorted());
  expect(Object.keys(at(tweet, "author") as object)).toEqual(
    expect.arrayContaining(authorFields.split(" ")) as string[],
  );
  expect(tweet).toMatchObject({
    id: matching(/^\d{19}$/),
    createdAt: matching(/^Wed Dec 31 \d\d:\d\d:\d\d \+0000 2025$/),
    quoted_tweet: { id: "1846987139428634858" },
  });
  expect((await createTestSandbox().ask("GET", `${path}?tweetId=1846987139428634858`)).json).toEqual(json);
});

test("pages of twenty follow one another and end", async () => {
  const { ask, book } = createTestSandbox();
  const ids: unknown[] = [];
  let pages = 0;
  for (let cursor = "", more = true; more; pages++) {
    const { json } = await ask("GET", `${path}?tweetId=7&cursor=${cursor}`);
    const tweets = at(json, "tweets");
    if (!Array.isArray(tweets)) throw new Error("no tweets");
    ids.push(...tweets.map((tweet) => at(tweet, "id")));
    more = at(json, "has_next_page") === true;
    cursor = String(at(json, "next_cursor"));
    expect(cursor === "").toBe(!more);
    expect(pages).toBeLessThan(5);
  }
  expect(pages).toBeGreaterThan(1);
  expect(new Set(ids).size).toBe(ids.length);
  expect(book.read().entries[0]?.billed).toEqual({ calls: 1, tweets: 20 });
});

test("refuses with a status or with a 200 that is an error, and bills nothing", async () => {
  const { ask, book } = createTestSandbox();
  for (const [target, status] of [
    [path, 400],
    [`${path}?tweetId=missing1`, 404],
    [`${path}?tweetId=abc`, 200],
    [`${path}?tweetId=7&cursor=nonsense`, 200],
    ["/twitterapi/other", 404],
  ] as const) {
    expect(await ask("GET", target)).toMatchObject({
      status,
      json: { status: "error", message: anyString, tweets: [] },
    });
  }
  expect((await ask("GET", `${path}?tweetId=7`, { headers: {} })).status).toBe(401);
  expect(book.read().entries.every(({ billed }) => billed === null)).toBe(true);
});
