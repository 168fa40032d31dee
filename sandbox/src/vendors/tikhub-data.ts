// The `data` member of each reseller endpoint: made up, plausible, and the same for the same question.

import { createSeeded, fingerprint, type Seeded } from "../seeded.ts";
import type { JsonObject } from "../vendor.ts";

export interface DataRefused {
  readonly refused: "missing" | "malformed" | "not_found";
  readonly parameter: string;
  readonly message: string;
}

interface Data {
  readonly data: JsonObject;
}

type Endpoint = (query: URLSearchParams, nowMs: number) => Data | DataRefused;

export const endpoints: Readonly<Record<string, Endpoint>> = {
  "/tiktok/app/v3/fetch_creator_search_insights_videos": (query) => insightsVideos(query),
  "/tiktok/shop/web/fetch_search_word_suggestion_v2": (query) => wordSuggestions(query),
  "/tiktok/web/fetch_tag_detail": (query) => tagDetail(query),
  "/instagram/v2/fetch_user_stories": (query, nowMs) => userStories(query, nowMs),
};

const pageSizeMax = 50;
// A fixed day, so that a video keeps its date whenever it is asked for.
const yearStartSeconds = Date.UTC(2026, 0, 1) / 1000;

function insightsVideos(query: URLSearchParams): Data | DataRefused {
  const keyword = query.get("keyword");
  if (!keyword) return missing("keyword");
  const offset = wholeNumber(query, "offset", 0);
  const count = wholeNumber(query, "count", 20);
  if (offset === undefined) return malformed("offset");
  if (count === undefined) return malformed("count");

  const total = createSeeded(`videos ${keyword}`).integer({ from: 25, to: 90 });
  const end = Math.min(total, offset + Math.min(count, pageSizeMax));
  const videos = Array.from({ length: Math.max(0, end - offset) }, (_, i) => videoOf(keyword, offset + i));
  return {
    data: { status_code: 0, has_more: end < total ? 1 : 0, cursor: Math.max(offset, end), data: videos },
  };
}

function videoOf(keyword: string, position: number) {
  const seeded = createSeeded(`video ${keyword} ${position}`);
  const plays = seeded.integer({ from: 1_000, to: 9_000_000 });
  const shareOfPlays = (most: number) => Math.floor(plays * seeded.decimal({ from: 0, to: most, places: 4 }));
  const awemeId = `7${seeded.digits(18)}`;
  const author = authorOf(seeded);

  return {
    type: 1,
    aweme_info: {
      aweme_id: awemeId,
      desc: `${seeded.pick(["How I started with", "Three things about", "My week of", "The truth about"])} ${keyword}`,
      create_time: yearStartSeconds - seeded.integer({ from: 0, to: 31_536_000 }),
      author,
      statistics: {
        aweme_id: awemeId,
        play_count: plays,
        digg_count: shareOfPlays(0.15),
        comment_count: shareOfPlays(0.02),
        share_count: shareOfPlays(0.02),
        collect_count: shareOfPlays(0.03),
      },
      video: {
        duration: seeded.integer({ from: 5_000, to: 180_000 }),
        ratio: "720p",
        width: 576,
        height: 1024,
      },
      share_url: `https://www.tiktok.com/@${author.unique_id}/video/${awemeId}`,
    },
  };
}

function authorOf(seeded: Seeded) {
  const name = seeded.pick(["mira", "jonas", "ada", "kenji", "lucia", "tomas", "noor", "elif"]);
  const uid = `6${seeded.digits(18)}`;
  return {
    uid,
    sec_uid: `MS4wLjABAAAA${fingerprint(uid)}`,
    unique_id: `${name}${seeded.integer({ from: 10, to: 9999 })}`,
    nickname: name,
    follower_count: seeded.integer({ from: 50, to: 2_000_000 }),
  };
}

function wordSuggestions(query: URLSearchParams): Data | DataRefused {
  const word = query.get("search_word");
  if (!word) return missing("search_word");
  const seeded = createSeeded(
    `suggestions ${word} ${query.get("lang") ?? "en"} ${query.get("region") ?? "US"}`,
  );
  const words = suggestionEndings.filter(() => seeded.fraction() < 0.7).map((ending) => `${word} ${ending}`);
  return { data: { code: 0, message: "", data: [word, ...words] } };
}

const suggestionEndings = [
  "for women",
  "for men",
  "for kids",
  "set",
  "mini",
  "case",
  "holder",
  "gift",
  "sale",
  "under 20",
  "2026",
  "viral",
  "pink",
  "black",
  "waterproof",
  "portable",
  "wireless",
  "large",
  "cheap",
  "organizer",
  "accessories",
  "bundle",
];

function tagDetail(query: URLSearchParams): Data | DataRefused {
  const tag = query.get("tag_name");
  if (!tag) return missing("tag_name");
  if (tag.startsWith("missing")) return notFound("tag_name");

  const seeded = createSeeded(`tag ${tag.toLowerCase()}`);
  const videoCount = seeded.integer({ from: 100, to: 5_000_000 });
  const challenge = {
    id: seeded.digits(seeded.integer({ from: 5, to: 19 })),
    title: tag,
    desc: "",
    profileLarger: "",
    isCommerce: false,
    stats: { videoCount, viewCount: videoCount * seeded.integer({ from: 500, to: 20_000 }) },
  };
  return { data: { challengeInfo: { challenge } } };
}

function userStories(query: URLSearchParams, nowMs: number): Data | DataRefused {
  const user = query.get("username") || query.get("user_id");
  if (!user) return missing("username");
  if (user.startsWith("missing")) return notFound("username");

  const seeded = createSeeded(`stories ${user}`);
  const pk = query.get("user_id") || seeded.digits(11);
  const count = seeded.integer({ from: 1, to: 8 });
  const items = Array.from({ length: count }, () => storyOf(seeded, pk, Math.floor(nowMs / 1000)));
  return { data: { count, items } };
}

/** Taken within the last day, because a story is gone after one. */
function storyOf(seeded: Seeded, pk: string, nowSeconds: number) {
  const takenAt = nowSeconds - seeded.integer({ from: 60, to: 86_000 });
  const id = `3${seeded.digits(18)}`;
  const isVideo = seeded.fraction() < 0.4;
  const file = `https://cdn.sandbox.example/stories/${id}`;
  return {
    id: `${id}_${pk}`,
    pk: id,
    media_type: isVideo ? 2 : 1,
    taken_at: takenAt,
    expiring_at: takenAt + 86_400,
    image_versions2: { candidates: [{ url: `${file}.jpg`, width: 1080, height: 1920 }] },
    ...(isVideo
      ? {
          video_versions: [{ url: `${file}.mp4`, width: 720, height: 1280 }],
          video_duration: seeded.decimal({ from: 3, to: 60, places: 3 }),
        }
      : {}),
  };
}

/** Undefined when it is not one. */
function wholeNumber(query: URLSearchParams, name: string, otherwise: number): number | undefined {
  const text = query.get(name);
  if (text === null || text === "") return otherwise;
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

const missing = (parameter: string): DataRefused => ({
  refused: "missing",
  parameter,
  message: "Field required",
});
const malformed = (parameter: string): DataRefused => ({
  refused: "malformed",
  parameter,
  message: "Input should be a valid integer, unable to parse string as an integer",
});
const notFound = (parameter: string): DataRefused => ({
  refused: "not_found",
  parameter,
  message: "Request failed. Please retry, or check the parameters; this request will not be charged.",
});
