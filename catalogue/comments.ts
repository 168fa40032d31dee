// The vendor counts in credits. Its answer may say how many it took; where it does not, it took one.

import { defineOperation, isJsonObject, z } from "../gateway/src/for-catalogues.ts";

/** What a response with replies costs. The vendor does not say which parameter asks for them, so any that is not known may. */
const creditsMax = 15;
/** A larger figure is a mistake and not a price, and is not believed. */
const creditsBelievedMax = 1_000_000;

const commentsQuery = z.looseObject({
  url: z.string().min(1, "must not be empty").describe("Address of the post or reel."),
  cursor: z.string().optional().describe("Where to go on: the `cursor` of the page before."),
});

const onlyPages = (query: object): boolean =>
  Object.keys(query).every((name) => name === "url" || name === "cursor");

/** `success: true` in the body is the proof. A figure that is no number of credits is reported, and one credit is charged. */
function creditsTaken(json: unknown, anomalies: string[]): number | undefined {
  if (!isJsonObject(json) || json["success"] !== true) return undefined;
  const said = json["credits_charged"];
  const believed = Number.isInteger(said) && Number(said) >= 0 && Number(said) <= creditsBelievedMax;
  if (believed) return Number(said);
  if (said !== undefined && said !== null) anomalies.push("credits_charged is no number of credits");
  return 1;
}

const comment = z
  .looseObject({
    id: z.string(),
    text: z.string(),
    created_at: z.string().describe("ISO 8601."),
    comment_like_count: z.int(),
    child_comment_count: z.int().describe("Number of replies; the replies themselves are never returned."),
    user: z.looseObject({
      is_verified: z.boolean().optional(),
      id: z.string().optional(),
      pk: z.string().optional(),
      is_unpublished: z.boolean().nullish(),
      profile_pic_url: z.string().optional(),
      username: z.string().optional(),
      fbid_v2: z.string().optional(),
    }),
  })
  .partial()
  .meta({ id: "Comment" });

const commentPage = z
  .looseObject({
    success: z.boolean(),
    credits_remaining: z.int().optional(),
    comments: z.array(comment).optional(),
    cursor: z.string().nullish().describe("Where to go on; null or absent after the last page."),
  })
  .meta({ id: "CommentPage" });

export const postComments = defineOperation({
  id: "social_b.post.comments",
  title: "Comments of a post",
  summary: "Top-level comments of a post or reel of the photo-sharing platform, page by page.",
  keywords: ["instagram", "replies", "discussion"],
  category: "data",
  method: "GET",
  path: "/apis/v1/{social_b}/post/comments",
  query: commentsQuery,
  response: commentPage,
  example: { query: { url: "https://photos.example/p/C1" } },
  price: {
    kind: "per_unit",
    unit: "credit",
    usd: "0.00188",
    requested: () => 1,
    atMost: ({ query }) => (onlyPages(query) ? 1 : creditsMax),
    delivered: ({ json }, _input, anomalies) => creditsTaken(json, anomalies),
  },
  servedBy: { scrapecreators: { exchange: "forward_query", path: "/instagram/post/comments" } },
});
