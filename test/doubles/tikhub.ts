// TikHub, the reseller: four GETs, one envelope, errors under `detail`.

import type { Answer } from "./scripted-answer.ts";
import { openVendorDouble } from "./vendor-double.ts";
import type { Handler, RecordedRequest } from "./vendor-double.ts";
import { createIds, hasBearer, jsonAnswer, queryOf, resolveOverride } from "./vendor-checks.ts";
import type { BookEntry, BookkeepingDouble, JsonValue, Override } from "./vendor-checks.ts";

export interface TikHubBilled {
  readonly endpoint: string;
  readonly usd: "0.001" | "0.002";
}

export interface TikHubOptions {
  readonly key: string;
  /** Replaces `data` of the envelope. */
  readonly data?: Override<RecordedRequest>;
  /** Replaces `code` of the envelope: `"200"` and `400` are the lies worth telling. */
  readonly code?: Override<RecordedRequest>;
  /** The HTTP status beside it. */
  readonly status?: number;
}

export const openTikHubDouble = async ({
  key,
  data,
  code,
  status = 200,
}: TikHubOptions): Promise<BookkeepingDouble<TikHubBilled>> => {
  const book: BookEntry<TikHubBilled>[] = [];
  const nextId = createIds("tikhub-");

  const serve =
    (path: string, endpoint: Endpoint): Handler =>
    (request) => {
      if (!hasBearer(request, key)) return refuse(401, keyRefusal);
      const query = queryOf(request);
      const problem = checkQuery(endpoint, query);
      if (problem) return problem;

      const requestId = nextId();
      const stated = resolveOverride({ override: code, input: request, honest: 200 });
      // The invoice needs a success by both measures; a failure that says 200 is free.
      if (stated === 200 && status >= 200 && status < 300) {
        book.push({ requestId, billed: { endpoint: path, usd: endpoint.usd }, request });
      }
      const honest = endpoint.data(query);
      return jsonAnswer(status, {
        code: stated,
        ...envelope({ requestId, path }),
        params: Object.fromEntries(query),
        data: resolveOverride({ override: data, input: request, honest }),
      });
    };

  const double = await openVendorDouble({
    basePath: "/api/v1",
    handlers: {
      ...Object.fromEntries(
        Object.entries(endpoints).map(([path, endpoint]) => [`GET /api/v1${path}`, serve(path, endpoint)]),
      ),
      "*": ({ target }) => {
        const path = target.split("?")[0]?.replace(/^\/api\/v1/, "") ?? "";
        return Object.hasOwn(endpoints, path)
          ? jsonAnswer(405, { detail: "Method Not Allowed" }, [["Allow", "GET"]])
          : jsonAnswer(404, { detail: "Not Found" });
      },
    },
  });
  return { ...double, book };
};

interface Endpoint {
  readonly required: readonly string[];
  /** At least one of these, where none is required by itself. */
  readonly either?: readonly string[];
  readonly integers: readonly string[];
  readonly usd: "0.001" | "0.002";
  readonly data: (query: URLSearchParams) => JsonValue;
}

// Ids stand as strings: they exceed 2^53, and a caller that made numbers of them would show it.
const endpoints: Readonly<Record<string, Endpoint>> = {
  "/tiktok/app/v3/fetch_creator_search_insights_videos": {
    required: ["keyword"],
    integers: ["offset", "count"],
    usd: "0.001",
    data: (query) => ({
      has_more: 0,
      cursor: Number(query.get("offset") ?? 0) + 1,
      aweme_list: [{ aweme_info: { aweme_id: "7301234567890123457", desc: query.get("keyword") ?? "" } }],
    }),
  },
  "/tiktok/shop/web/fetch_search_word_suggestion_v2": {
    required: ["search_word"],
    integers: [],
    usd: "0.001",
    data: (query) => ["", " case", " stand"].map((tail) => `${query.get("search_word")}${tail}`),
  },
  "/tiktok/web/fetch_tag_detail": {
    required: ["tag_name"],
    integers: [],
    usd: "0.001",
    data: (query) => ({
      challengeInfo: {
        challenge: {
          id: "7301234567890123459",
          title: query.get("tag_name") ?? "",
          stats: { videoCount: 1234, viewCount: 567890 },
        },
      },
    }),
  },
  "/instagram/v2/fetch_user_stories": {
    required: [],
    either: ["username", "user_id"],
    integers: [],
    usd: "0.002",
    data: () => ({
      items: [
        {
          id: "3301234567890123457_1",
          taken_at: 1_755_734_400,
          image_url: "https://cdn.example/1.jpg",
        },
      ],
    }),
  },
};

function checkQuery(endpoint: Endpoint, query: URLSearchParams): Answer | undefined {
  const missing = endpoint.required.filter((name) => !query.has(name));
  const unreadable = endpoint.integers.filter((name) => !/^-?\d+$/.test(query.get(name) ?? "0"));
  if (missing.length > 0 || unreadable.length > 0) {
    return jsonAnswer(422, {
      detail: [
        ...missing.map((name) => fault(name, { type: "missing", msg: "Field required" })),
        ...unreadable.map((name) =>
          fault(name, {
            type: "int_parsing",
            msg: "Input should be a valid integer, unable to parse string as an integer",
          }),
        ),
      ],
    });
  }
  if (endpoint.either && !endpoint.either.some((name) => query.get(name))) {
    return refuse(400, {
      message: `One of ${endpoint.either.join(", ")} is required.`,
      messageZh: "缺少参数。",
    });
  }
  return undefined;
}

const fault = (name: string, { type, msg }: { readonly type: string; readonly msg: string }): JsonValue => ({
  type,
  loc: ["query", name],
  msg,
});

interface Refusal {
  readonly message: string;
  readonly messageZh: string;
}

const keyRefusal: Refusal = { message: "Invalid API token.", messageZh: "无效的 API 令牌。" };

const refuse = (status: number, { message, messageZh }: Refusal): Answer =>
  jsonAnswer(status, { detail: { code: status, message, message_zh: messageZh } });

const envelope = ({
  requestId,
  path,
}: {
  readonly requestId: string;
  readonly path: string;
}): Record<string, JsonValue> => ({
  request_id: requestId,
  message: "Request successful. This request will incur a charge.",
  message_zh: "请求成功，本次请求将被计费。",
  support: "Discord: https://discord.gg/aMEAS8Xsvz",
  time: "2025-08-20 17:00:00",
  time_stamp: 1_755_734_400,
  time_zone: "America/Los_Angeles",
  docs: `https://api.tikhub.io/#${path}`,
  cache_message: "This request will be cached for 24 hours; reading the cache costs nothing more.",
  cache_message_zh: "本次请求将被缓存，有效期为 24 小时，访问缓存不会产生额外费用。",
  cache_url: `https://cache.tikhub.io/api/v1/cache/public/${requestId}`,
  router: `/api/v1${path}`,
});
