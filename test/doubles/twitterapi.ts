// twitterapi.io: one GET, key in X-API-Key, failures that may come with a 200.

import type { Answer } from "./scripted-answer.ts";
import { openVendorDouble } from "./vendor-double.ts";
import type { Handler, RecordedRequest } from "./vendor-double.ts";
import { hasHeader, jsonAnswer, queryOf, resolveOverride } from "./vendor-checks.ts";
import type { BookEntry, BookkeepingDouble, JsonValue, Override } from "./vendor-checks.ts";

export interface TwitterApiBilled {
  readonly tweets: number;
}

export interface TwitterApiOptions {
  readonly key: string;
  /** Replaces `status`. */
  readonly status?: Override<RecordedRequest>;
}

export const openTwitterApiDouble = async ({
  key,
  status,
}: TwitterApiOptions): Promise<BookkeepingDouble<TwitterApiBilled>> => {
  const book: BookEntry<TwitterApiBilled>[] = [];

  const quotes: Handler = (request) => {
    if (!hasHeader(request, { name: "X-API-Key", value: key })) return refuse(401, "Unauthorized");
    const query = queryOf(request);
    const tweetId = query.get("tweetId");
    if (!tweetId) return refuse(400, "tweetId is required");
    if (tweetId === "404") return refuse(404, "tweet not found");
    const ids = pages[query.get("cursor") ?? ""];
    if (!ids) return refuse(200, "invalid cursor");

    const stated = resolveOverride({ override: status, input: request, honest: "success" });
    if (stated === "success") book.push({ requestId: null, billed: { tweets: ids.length }, request });
    return jsonAnswer(200, {
      tweets: ids.map((id) => tweetOf(id, tweetId)),
      // The trap: another page is promised even where there is none.
      has_next_page: true,
      next_cursor: query.get("cursor") ? "" : secondCursor,
      status: stated,
      message: "",
    });
  };

  const double = await openVendorDouble({
    basePath: "/twitter",
    handlers: {
      "GET /twitter/tweet/quotes": quotes,
      "*": () => refuse(404, "No such endpoint"),
    },
  });
  return { ...double, book };
};

const secondCursor = "DAAC+cg/AB==";

const pages: Readonly<Record<string, readonly string[] | undefined>> = {
  "": ["1900000000000000001", "1900000000000000002"],
  [secondCursor]: ["1900000000000000003"],
};

const refuse = (status: number, message: string): Answer =>
  jsonAnswer(status, { tweets: [], has_next_page: false, next_cursor: "", status: "error", message });

const tweetOf = (id: string, quoted: string): JsonValue => ({
  type: "tweet",
  id,
  url: `https://x.com/ada/status/${id}`,
  text: "This.",
  retweetCount: 1,
  createdAt: "Tue Dec 10 07:00:30 +0000 2024",
  author: { type: "user", userName: "ada", id: "42", followers: 7 },
  entities: { hashtags: [], urls: [], user_mentions: [] },
  quoted_tweet: { id: quoted },
  retweeted_tweet: null,
});
