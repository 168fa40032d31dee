// The tweet-style record of the microblogging platform. The vendor's answer passes as it came, so nothing in it is
// promised to be there.

import { z } from "../../gateway/src/for-catalogues.ts";

const text = z.string().nullish();
const flag = z.boolean().nullish();
const figure = z.int().nullish();
const indices = z.array(z.int()).optional();

const author = z
  .looseObject({
    type: text,
    userName: text,
    url: text,
    id: text,
    name: text,
    verifiedType: text,
    profilePicture: text,
    coverPicture: text,
    description: text,
    location: text,
    createdAt: text,
    automatedBy: text,
    message: text,
    unavailableReason: text,
    isBlueVerified: flag,
    canDm: flag,
    hasCustomTimelines: flag,
    isTranslator: flag,
    possiblySensitive: flag,
    isAutomated: flag,
    unavailable: flag,
    followers: figure,
    following: figure,
    favouritesCount: figure,
    mediaCount: figure,
    statusesCount: figure,
    withheldInCountries: z.array(z.string()).nullish(),
    pinnedTweetIds: z.array(z.string()).nullish(),
  })
  .meta({ id: "TweetAuthor" });

const entities = z
  .looseObject({
    hashtags: z.array(z.looseObject({ indices, text })).optional(),
    urls: z.array(z.looseObject({ display_url: text, expanded_url: text, indices, url: text })).optional(),
    user_mentions: z.array(z.looseObject({ id_str: text, name: text, screen_name: text })).optional(),
  })
  .meta({ id: "TweetEntities" });

/** Documented as a text; vendors send the tweet itself. */
const otherTweet = z.union([z.string(), z.looseObject({})]).nullish();

export const tweet = z
  .looseObject({
    type: text,
    id: text,
    url: text,
    text,
    source: text,
    retweetCount: figure,
    replyCount: figure,
    likeCount: figure,
    quoteCount: figure,
    viewCount: figure,
    bookmarkCount: figure,
    createdAt: text,
    lang: text,
    isReply: flag,
    inReplyToId: text,
    conversationId: text,
    inReplyToUserId: text,
    inReplyToUsername: text,
    displayTextRange: z.array(z.int()).nullish(),
    author: author.nullish(),
    entities: entities.nullish(),
    quoted_tweet: otherTweet,
    retweeted_tweet: otherTweet,
    isLimitedReply: flag,
  })
  .meta({ id: "Tweet" });
