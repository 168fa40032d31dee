// One reseller, one envelope: a call is paid for only when HTTP says 2xx and the body's own `code` is the
// integer 200. Parameters beyond the required ones are forwarded as they come and never invented.

import { defineOperation, fixed, isJsonObject, z } from "../gateway/src/for-catalogues.ts";

const priceUsd = "0.00145";
const storiesPriceUsd = "0.0029";

const envelopeSaysOk = ({ json }: { readonly json: unknown }): boolean =>
  isJsonObject(json) && json["code"] === 200;

const orNull = z.string().nullish();

/** What the vendor answers, whatever `code` says; what `data` holds is not written down. */
const envelope = z
  .looseObject({
    code: z.int().describe("HTTP-style status; only 200 is charged."),
    request_id: orNull,
    message: orNull,
    message_zh: orNull.describe("The message in Chinese."),
    support: orNull,
    time: orNull.describe("When the answer was made."),
    time_stamp: z.int().nullish(),
    time_zone: orNull,
    docs: orNull.describe("Link to the endpoint's description."),
    cache_message: orNull,
    cache_message_zh: orNull,
    cache_url: orNull.describe("The same answer for 24 hours, at no extra cost, for request tracing only."),
    router: orNull.describe("Endpoint that made the answer."),
    params: z.unknown().optional().describe("Parameters used in the request."),
    data: z.unknown().optional(),
  })
  .meta({ id: "ResellerEnvelope" });

const required = z.string().min(1, "must not be empty");

export const creatorSearchInsightsVideos = defineOperation({
  id: "reseller.social_c.creator_search_insights_videos",
  title: "Creator search insights: videos",
  summary: "Videos behind a search keyword on the short-video platform.",
  keywords: ["tiktok", "trending", "find short videos"],
  category: "data",
  method: "GET",
  path: "/apis/v1/{reseller}/{social_c}/app/v3/fetch_creator_search_insights_videos",
  query: z.looseObject({ keyword: required.describe("Search keyword.") }),
  response: envelope,
  example: { query: { keyword: "coffee" } },
  price: fixed(priceUsd, envelopeSaysOk),
  servedBy: {
    tikhub: { exchange: "forward_query", path: "/tiktok/app/v3/fetch_creator_search_insights_videos" },
  },
});

export const searchWordSuggestion = defineOperation({
  id: "reseller.social_c.search_word_suggestion",
  title: "Shop search suggestions",
  summary: "Suggestions for a search word in the short-video platform's shop.",
  keywords: ["tiktok", "autocomplete", "keyword ideas", "products"],
  category: "data",
  method: "GET",
  path: "/apis/v1/{reseller}/{social_c}/shop/web/fetch_search_word_suggestion_v2",
  query: z.looseObject({ search_word: required.describe("Search keyword.") }),
  response: envelope,
  example: { query: { search_word: "coffee" } },
  price: fixed(priceUsd, envelopeSaysOk),
  servedBy: {
    tikhub: { exchange: "forward_query", path: "/tiktok/shop/web/fetch_search_word_suggestion_v2" },
  },
});

export const tagDetail = defineOperation({
  id: "reseller.social_c.tag_detail",
  title: "Tag detail",
  summary: "What a tag is about and how much is posted under it.",
  keywords: ["tiktok", "hashtag", "views", "popularity"],
  category: "data",
  method: "GET",
  path: "/apis/v1/{reseller}/{social_c}/web/fetch_tag_detail",
  query: z.looseObject({ tag_name: required.describe("Tag without its leading #.") }),
  response: envelope,
  example: { query: { tag_name: "coffee" } },
  price: fixed(priceUsd, envelopeSaysOk),
  servedBy: { tikhub: { exchange: "forward_query", path: "/tiktok/web/fetch_tag_detail" } },
});

export const userStories = defineOperation({
  id: "reseller.social_b.user_stories",
  title: "User stories",
  summary: "The current stories of a user of the photo-sharing platform.",
  keywords: ["instagram", "current story"],
  category: "data",
  method: "GET",
  path: "/apis/v1/{reseller}/{social_b}/v2/fetch_user_stories",
  definition: "pending",
  response: envelope,
  example: { query: { username: "ada" } },
  price: fixed(storiesPriceUsd, envelopeSaysOk),
  servedBy: { tikhub: { exchange: "forward_query", path: "/instagram/v2/fetch_user_stories" } },
});
