// twitterapi.io: who quoted a tweet, twenty at a time, newest first. Some of its failures come with a 200.

import { cursorOf, positionOf } from "../cursor.ts";
import { createSeeded, type Seeded } from "../seeded.ts";
import type { JsonObject, Vendor, VendorAnswer } from "../vendor.ts";

const pageSize = 20;
// A fixed day, so that a tweet keeps its date whenever it is asked for.
const newestMs = Date.UTC(2026, 0, 1);

export function createTwitterApi({ key }: { key: string }): Vendor {
  const answer: Vendor["answer"] = ({ method, path, query, headers }) => {
    if (headers.get("x-api-key") !== key) return refuse(401, "Unauthorized");
    if (path !== "/tweet/quotes") return refuse(404, "Not Found");
    if (method !== "GET") return refuse(405, "Method Not Allowed");
    const tweetId = query.get("tweetId");
    if (!tweetId) return refuse(400, "tweetId is required");
    if (tweetId.startsWith("missing")) return refuse(404, "tweet not found");
    if (!/^\d{1,20}$/.test(tweetId)) return refuse(200, "tweetId is invalid");
    const from = positionOf(query.get("cursor"));
    if (from === undefined) return refuse(200, "cursor is invalid");

    const total = createSeeded(`quotes ${tweetId}`).integer({ from: 25, to: 70 });
    const end = Math.min(total, from + pageSize);
    const tweets = Array.from({ length: Math.max(0, end - from) }, (_, i) => quoteOf(tweetId, from + i));
    return {
      status: 200,
      body: {
        tweets,
        has_next_page: end < total,
        next_cursor: end < total ? cursorOf(end) : "",
        status: "success",
        message: "success",
      },
      billed: { calls: 1, tweets: tweets.length },
    };
  };
  return { answer, refuse };
}

const refuse = (status: number, message: string): VendorAnswer => ({
  status,
  body: { tweets: [], has_next_page: false, next_cursor: "", status: "error", message },
  billed: null,
});

function quoteOf(tweetId: string, position: number): JsonObject {
  const seeded = createSeeded(`quote ${tweetId} ${position}`);
  const id = `19${seeded.digits(17)}`;
  const author = authorOf(seeded);
  const text = seeded.pick([
    "This.",
    "Worth reading",
    "I disagree, politely",
    "Saving this for later",
    "Again?",
  ]);
  return {
    type: "tweet",
    id,
    url: `https://x.com/${author.userName}/status/${id}`,
    text,
    source: "Twitter for iPhone",
    retweetCount: seeded.integer({ from: 0, to: 300 }),
    replyCount: seeded.integer({ from: 0, to: 80 }),
    likeCount: seeded.integer({ from: 0, to: 4_000 }),
    quoteCount: seeded.integer({ from: 0, to: 40 }),
    viewCount: seeded.integer({ from: 50, to: 400_000 }),
    createdAt: dateOf(newestMs - position * 60_000 - seeded.integer({ from: 0, to: 59_000 })),
    lang: "en",
    bookmarkCount: seeded.integer({ from: 0, to: 200 }),
    isReply: false,
    inReplyToId: "",
    conversationId: id,
    inReplyToUserId: "",
    inReplyToUsername: "",
    displayTextRange: [0, text.length],
    author,
    entities: { hashtags: [], urls: [], user_mentions: [] },
    // Documented as a text, an object on the wire.
    quoted_tweet: { type: "tweet", id: tweetId, url: `https://x.com/i/status/${tweetId}` },
    retweeted_tweet: null,
    isLimitedReply: false,
  };
}

function authorOf(seeded: Seeded) {
  const name = seeded.pick(["mira", "jonas", "ada", "kenji", "lucia", "noor"]);
  const userName = `${name}${seeded.integer({ from: 10, to: 9999 })}`;
  const id = seeded.digits(10);
  return {
    type: "user",
    userName,
    url: `https://x.com/${userName}`,
    id,
    name,
    isBlueVerified: seeded.fraction() < 0.2,
    verifiedType: "",
    profilePicture: `https://cdn.sandbox.example/profiles/${id}.jpg`,
    coverPicture: `https://cdn.sandbox.example/covers/${id}.jpg`,
    description: "",
    location: "",
    followers: seeded.integer({ from: 0, to: 90_000 }),
    following: seeded.integer({ from: 0, to: 2_000 }),
    canDm: false,
    createdAt: dateOf(newestMs - seeded.integer({ from: 100, to: 3_000 }) * 86_400_000),
    favouritesCount: seeded.integer({ from: 0, to: 20_000 }),
    hasCustomTimelines: true,
    isTranslator: false,
    mediaCount: seeded.integer({ from: 0, to: 900 }),
    statusesCount: seeded.integer({ from: 1, to: 30_000 }),
    withheldInCountries: [],
    affiliatesHighlightedLabel: {},
    possiblySensitive: false,
    pinnedTweetIds: [],
    isAutomated: false,
    automatedBy: "",
    unavailable: false,
    message: "",
    unavailableReason: "",
    profile_bio: { description: "", entities: { description: {}, url: {} } },
  };
}

/** As the platform writes it: Tue Dec 10 07:00:30 +0000 2024. */
function dateOf(ms: number): string {
  const [, weekday, day, month, year, time] =
    /^(\w+), (\d+) (\w+) (\d+) (\S+)/.exec(new Date(ms).toUTCString()) ?? [];
  return `${weekday} ${month} ${day} ${time} +0000 ${year}`;
}
