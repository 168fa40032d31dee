// ScrapeCreators: the comments of a post, a page at a time, each page a credit.

import { cursorOf, positionOf } from "../cursor.ts";
import { createSeeded } from "../seeded.ts";
import type { JsonObject, Vendor, VendorAnswer } from "../vendor.ts";

const pageSize = 15;
const creditsAtStart = 1_000_000;
// A fixed day, so that a comment keeps its date whenever it is asked for.
const newestMs = Date.UTC(2026, 0, 1);

export function createScrapeCreators({ key }: { key: string }): Vendor {
  let creditsRemaining = creditsAtStart;

  const answer: Vendor["answer"] = ({ method, path, query, headers }) => {
    if (headers.get("x-api-key") !== key) return refuse(401, "Invalid or missing API key");
    if (path !== "/instagram/post/comments") return refuse(404, `Path ${path} not found`);
    if (method !== "GET") return refuse(405, `Method ${method} not allowed`);
    const url = query.get("url");
    if (!url) return refuse(400, "url is required");
    if (url.includes("missing")) return refuse(404, "Post not found");
    const from = positionOf(query.get("cursor"));
    if (from === undefined) return refuse(400, "cursor is invalid");

    const total = createSeeded(`comments ${url}`).integer({ from: 20, to: 70 });
    const end = Math.min(total, from + pageSize);
    creditsRemaining -= 1;
    return {
      status: 200,
      body: {
        success: true,
        credits_remaining: creditsRemaining,
        credits_charged: 1,
        comments: Array.from({ length: Math.max(0, end - from) }, (_, i) => commentOf(url, from + i)),
        cursor: end < total ? cursorOf(end) : null,
      },
      billed: { credits: 1 },
    };
  };
  return { answer, refuse };
}

const refuse = (status: number, message: string): VendorAnswer => ({
  status,
  body: { success: false, error: errorNames[status] ?? "error", errorStatus: status, message },
  billed: null,
});

const errorNames: Readonly<Record<number, string>> = {
  400: "bad_request",
  401: "unauthorized",
  402: "out_of_credits",
  404: "not_found",
  405: "method_not_allowed",
  429: "too_many_requests",
  500: "internal_error",
};

function commentOf(url: string, position: number): JsonObject {
  const seeded = createSeeded(`comment ${url} ${position}`);
  const id = `18${seeded.digits(15)}`;
  const pk = seeded.digits(11);
  return {
    id,
    text: seeded.pick([
      "So good!",
      "Where is this?",
      "I need one of these",
      "Love it",
      "First",
      "Again, please",
    ]),
    created_at: new Date(
      newestMs - position * 60_000 - seeded.integer({ from: 0, to: 59_000 }),
    ).toISOString(),
    comment_like_count: seeded.integer({ from: 0, to: 900 }),
    child_comment_count: seeded.integer({ from: 0, to: 12 }),
    user: {
      is_verified: seeded.fraction() < 0.1,
      id: pk,
      pk,
      is_unpublished: null,
      profile_pic_url: `https://cdn.sandbox.example/profiles/${pk}.jpg`,
      username: `${seeded.pick(["mira", "jonas", "ada", "kenji", "lucia"])}${seeded.integer({ from: 10, to: 9999 })}`,
      fbid_v2: `178414${seeded.digits(11)}`,
    },
  };
}
