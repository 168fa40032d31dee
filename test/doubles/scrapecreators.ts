// ScrapeCreators: one GET, key in x-api-key, credits in the body.

import type { Answer } from "./scripted-answer.ts";
import { openVendorDouble } from "./vendor-double.ts";
import type { Handler, RecordedRequest } from "./vendor-double.ts";
import { hasHeader, jsonAnswer, omitted, queryOf, resolveOverride } from "./vendor-checks.ts";
import type { BookEntry, BookkeepingDouble, JsonValue, Override } from "./vendor-checks.ts";

export interface ScrapeCreatorsBilled {
  readonly credits: number;
}

export interface ScrapeCreatorsOptions {
  readonly key: string;
  /** Replaces `success`: false with a 200 is the lie worth telling. */
  readonly success?: Override<RecordedRequest>;
  /** Replaces `credits_charged`, which this vendor sends only when it likes. */
  readonly creditsCharged?: Override<RecordedRequest>;
}

export const openScrapeCreatorsDouble = async ({
  key,
  success,
  creditsCharged = omitted,
}: ScrapeCreatorsOptions): Promise<BookkeepingDouble<ScrapeCreatorsBilled>> => {
  const book: BookEntry<ScrapeCreatorsBilled>[] = [];

  const comments: Handler = (request) => {
    if (!hasHeader(request, { name: "x-api-key", value: key })) return refuse(401, "Invalid API key");
    const query = queryOf(request);
    if (!query.get("url")) return refuse(400, "url is required");
    const page = pages[query.get("cursor") ?? ""];
    if (!page) return refuse(400, "Invalid cursor");

    const stated = resolveOverride({ override: success, input: request, honest: true });
    // What the vendor does with parameters it does not know: nothing, at the full price.
    const credits = query.has("replies") ? 15 : 1;
    if (stated === true) book.push({ requestId: null, billed: { credits }, request });
    return jsonAnswer(200, {
      success: stated,
      credits_remaining: 4_999,
      credits_charged: resolveOverride({ override: creditsCharged, input: request, honest: credits }),
      comments: page.ids.map(commentOf),
      cursor: page.cursor,
    });
  };

  const double = await openVendorDouble({
    basePath: "/v2",
    handlers: {
      "GET /v2/instagram/post/comments": comments,
      "*": () => refuse(404, "No such endpoint"),
    },
  });
  return { ...double, book };
};

// Opaque to everybody, with characters that an encoder could spoil.
const pages: Readonly<
  Record<string, { readonly ids: readonly string[]; readonly cursor: string | null } | undefined>
> = {
  "": { ids: ["17900000000000001", "17900000000000002"], cursor: "QVFE+/x==" },
  "QVFE+/x==": { ids: ["17900000000000003"], cursor: null },
};

const refuse = (status: number, message: string): Answer =>
  jsonAnswer(status, { success: false, error: "request_failed", errorStatus: status, message });

// No child_comment_count: the vendor's own example lacks it.
const commentOf = (id: string): JsonValue => ({
  id,
  text: "Wow 😀",
  created_at: "2026-01-02T03:04:05.000Z",
  comment_like_count: 3,
  user: {
    is_verified: false,
    id: "178",
    pk: "178",
    is_unpublished: null,
    profile_pic_url: "https://cdn.test/p.jpg",
    username: "ada",
    fbid_v2: "17841400000000001",
  },
});
