import { defineOperation, fixed, isJsonObject, z } from "../gateway/src/for-catalogues.ts";
import { tweet } from "./answers/tweet-records.ts";

/** The operator's to set (`operations.social_a.tweet.quotes.price_usd`): the specification names no price. */
const priceUsd = "0.003";

/** What is paid for is a list of tweets in an answer that does not call itself an error: this vendor fails with a 200, too. */
const holdsTweets = ({ json }: { readonly json: unknown }): boolean =>
  isJsonObject(json) && Array.isArray(json["tweets"]) && json["status"] !== "error";

export const tweetQuotes = defineOperation({
  id: "social_a.tweet.quotes",
  title: "Quotes of a tweet",
  summary: "Posts that quote a tweet, newest first, page by page.",
  keywords: ["twitter", "quote tweets", "who quoted"],
  category: "data",
  method: "GET",
  path: "/apis/v1/{social_a}/tweet/quotes",
  query: z.looseObject({
    tweetId: z.string().min(1, "must not be empty").describe("Id of the quoted tweet."),
    cursor: z.string().optional().describe("Where to go on: the `next_cursor` of the page before."),
  }),
  response: z
    .looseObject({
      tweets: z.array(tweet).optional(),
      has_next_page: z.boolean().optional(),
      next_cursor: z.string().nullish(),
      status: z.string().optional().describe("`error` marks a failure; such an answer is not charged."),
      message: z.string().nullish(),
    })
    .meta({ id: "TweetQuotes" }),
  example: { query: { tweetId: "1846987139428634858" } },
  price: fixed(priceUsd, holdsTweets),
  servedBy: { twitterapi: { exchange: "forward_query", path: "/tweet/quotes" } },
});
