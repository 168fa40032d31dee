// Written from the catalogue by client/write-operations.ts; changes here are overwritten.

import type { OperationFacts } from "./operation-facts.ts";

/* eslint-disable @typescript-eslint/no-explicit-any -- in what is handed in no other word lets an interface through */

export type OperationId = keyof Inputs;

/** Everything that can be called, and what must be known to call it. */
export const operations: Readonly<Record<OperationId, OperationFacts>> = {
  "chat.completions.create": { method: "POST", path: "/v1/chat/completions", billed: true, keyed: true, streams: "flag" },
  "credits.balance": { method: "GET", path: "/v1/credits/balance", billed: false, keyed: false },
  "embeddings.create": { method: "POST", path: "/v1/embeddings", billed: true, keyed: true },
  "financial.metrics.snapshot": { method: "GET", path: "/apis/v1/financial/financial-metrics/snapshot", billed: true, keyed: false },
  "images.generate": { method: "POST", path: "/v1/images/generations", billed: true, keyed: true },
  "limits.get": { method: "GET", path: "/v1/limits", billed: false, keyed: false },
  "limits.requests.create": { method: "POST", path: "/v1/limits/requests", billed: false, keyed: true },
  "messages.count_tokens": { method: "POST", path: "/v1/messages/count_tokens", billed: false, keyed: true },
  "messages.create": { method: "POST", path: "/v1/messages", billed: true, keyed: true, streams: "flag" },
  "models.count_tokens": { method: "POST", path: "/v1beta/models/{model}:countTokens", billed: false, keyed: true },
  "models.generate_content": { method: "POST", path: "/v1beta/models/{model}:generateContent", billed: true, keyed: true },
  "models.get": { method: "GET", path: "/v1/models/{id}", billed: false, keyed: false },
  "models.get_gemini": { method: "GET", path: "/v1beta/models/{id}", billed: false, keyed: false },
  "models.list": { method: "GET", path: "/v1/models", billed: false, keyed: false },
  "models.list_gemini": { method: "GET", path: "/v1beta/models", billed: false, keyed: false },
  "models.stream_generate_content": { method: "POST", path: "/v1beta/models/{model}:streamGenerateContent", billed: true, keyed: true, inQuery: ["alt"], streams: "always" },
  "requests.get": { method: "GET", path: "/v1/requests/{request_id}", billed: false, keyed: false },
  "requests.list": { method: "GET", path: "/v1/requests", billed: false, keyed: false },
  "rerank.create": { method: "POST", path: "/v1/rerank", billed: true, keyed: true },
  "research.deep_search": { method: "POST", path: "/apis/v1/research/deep-search", billed: true, keyed: true },
  "reseller.social_b.user_stories": { method: "GET", path: "/apis/v1/{reseller}/{social_b}/v2/fetch_user_stories", billed: true, keyed: false },
  "reseller.social_c.creator_search_insights_videos": { method: "GET", path: "/apis/v1/{reseller}/{social_c}/app/v3/fetch_creator_search_insights_videos", billed: true, keyed: false },
  "reseller.social_c.search_word_suggestion": { method: "GET", path: "/apis/v1/{reseller}/{social_c}/shop/web/fetch_search_word_suggestion_v2", billed: true, keyed: false },
  "reseller.social_c.tag_detail": { method: "GET", path: "/apis/v1/{reseller}/{social_c}/web/fetch_tag_detail", billed: true, keyed: false },
  "responses.create": { method: "POST", path: "/v1/responses", billed: true, keyed: true, streams: "flag" },
  "social_a.follow": { method: "POST", path: "/apis/v1/{social_a}/follow_{social_a}", billed: true, keyed: true },
  "social_a.link.start": { method: "POST", path: "/apis/v1/{social_a}/auth_{social_a}", billed: false, keyed: true },
  "social_a.links.list": { method: "GET", path: "/apis/v1/{social_a}/links", billed: false, keyed: false },
  "social_a.links.revoke": { method: "POST", path: "/apis/v1/{social_a}/links/{link_id}/revoke", billed: false, keyed: true, inQuery: "all" },
  "social_a.tweet.quotes": { method: "GET", path: "/apis/v1/{social_a}/tweet/quotes", billed: true, keyed: false },
  "social_b.post.comments": { method: "GET", path: "/apis/v1/{social_b}/post/comments", billed: true, keyed: false },
  "tasks.cancel": { method: "POST", path: "/apis/v1/services/aigc/tasks/{task_id}/cancel", billed: false, keyed: true, inQuery: "all" },
  "tasks.get": { method: "GET", path: "/apis/v1/services/aigc/tasks/{task_id}", billed: false, keyed: false },
  "traffic_analytics.website.traffic_engagement": { method: "GET", path: "/apis/v1/{traffic_analytics}/website/traffic-engagement", billed: true, keyed: true },
  "usage.get": { method: "GET", path: "/v1/usage", billed: false, keyed: false },
  "video.synthesis.create": { method: "POST", path: "/apis/v1/services/aigc/video-generation/video-synthesis", billed: true, keyed: true, startsTask: true },
};

/** What each operation takes: the parameters of its path, its query and its body, in one object. */
export interface Inputs {
  /**
   * Answers a conversation with a model, in the OpenAI dialect. Tools that the vendor runs, such as a web search or
   * an MCP server, are refused with 400 unless the operator allows them. Members by which a router would ask
   * another model, or write more than is held, are always refused with 400.
   */
  readonly "chat.completions.create": {
    /** A model of `GET /v1/models`. */
    readonly model: string;
    readonly messages: readonly {
      readonly role: string;
      /** A text, or a list of parts. */
      readonly content?: unknown;
      readonly [name: string]: any;
    }[];
    /** The most tokens to answer with, by its older name. The fewer, the less is held. */
    readonly max_tokens?: number | null | undefined;
    /** The most tokens to answer with, thoughts included. The fewer, the less is held. */
    readonly max_completion_tokens?: number | null | undefined;
    /** How many answers to write; each is paid for. */
    readonly n?: number | null | undefined;
    /** Answers piece by piece, as server-sent events. */
    readonly stream?: boolean | null | undefined;
    readonly stream_options?: {
      /** A last event tells the tokens used. */
      readonly include_usage?: boolean | null | undefined;
      readonly [name: string]: any;
    } | null | undefined;
    /** How soon it is served. What costs more than the usual tier is refused with 400. */
    readonly service_tier?: "auto" | "default" | "standard" | "standard_only" | "on_demand" | "flex" | "unspecified" | null | undefined;
    /** Qwen's word for thinking before the answer. */
    readonly enable_thinking?: boolean | null | undefined;
    /** The most tokens to think with, where the vendor does not count them as part of the answer. */
    readonly thinking_budget?: number | null | undefined;
    readonly [name: string]: any;
  };
  /** What the account has, what running calls hold of it, and this key's budget. */
  readonly "credits.balance": Readonly<Record<string, never>>;
  /** Turns texts into vectors, which are close to each other where the texts mean the same. */
  readonly "embeddings.create": {
    /** A model of `GET /v1/models`. */
    readonly model: string;
    /** A text, a list of texts, or the same in tokens, of which there may be 300000 in all. */
    readonly input: string | readonly string[] | readonly number[] | readonly (readonly number[])[];
    readonly dimensions?: number | null | undefined;
    readonly encoding_format?: "float" | "base64" | null | undefined;
    readonly [name: string]: any;
  };
  /**
   * Current valuation, margins, returns, liquidity and growth of a company. Exactly one of `ticker` and `cik` is
   * required.
   */
  readonly "financial.metrics.snapshot": {
    /** Company ticker symbol. */
    readonly ticker?: string | undefined;
    /** Company registry key, instead of a ticker. */
    readonly cik?: string | undefined;
    readonly [name: string]: any;
  };
  /** Draws images from a description. */
  readonly "images.generate": {
    /** Image model; the configured default serves when absent. */
    readonly model?: string | null | undefined;
    readonly prompt: string;
    readonly n?: number | null | undefined;
    /** "auto" or WIDTHxHEIGHT in pixels. */
    readonly size?: string | null | undefined;
    readonly quality?: string | null | undefined;
    /** Any format but SVG. */
    readonly output_format?: string | null | undefined;
    /** How many frames a GIF has, each of the size that is asked for. */
    readonly frame_count?: number | null | undefined;
    readonly svg?: null | undefined;
    readonly stream?: false | null | undefined;
    readonly [name: string]: any;
  };
  /** Every limit of this key, what is left of it and when it eases, and the workspace id. */
  readonly "limits.get": Readonly<Record<string, never>>;
  /** Files an application that the operator approves or denies. `models` or `endpoints` is required. */
  readonly "limits.requests.create": {
    /** Expected peak of requests per minute. */
    readonly expected_rpm: number;
    /** Expected peak of tokens per minute. */
    readonly expected_tpm: number;
    /** Models you need it for. */
    readonly models?: readonly string[] | undefined;
    /** Endpoints you need it for. */
    readonly endpoints?: readonly string[] | undefined;
    readonly use_case: string;
  };
  /** How many input tokens a message would have, in the Anthropic dialect. */
  readonly "messages.count_tokens": {
    readonly model: string;
    readonly messages: readonly {
      readonly role: string;
      /** A text, or a list of parts. */
      readonly content?: unknown;
      readonly [name: string]: any;
    }[];
    readonly [name: string]: any;
  };
  /**
   * Answers a conversation with a model, in the Anthropic dialect. Tools that the vendor runs, such as a web search
   * or an MCP server, are refused with 400 unless the operator allows them. Members by which a router would ask
   * another model, or write more than is held, are always refused with 400.
   */
  readonly "messages.create": {
    /** A model of `GET /v1/models`. */
    readonly model: string;
    readonly messages: readonly {
      readonly role: string;
      /** A text, or a list of parts. */
      readonly content?: unknown;
      readonly [name: string]: any;
    }[];
    /** The most tokens to answer with. With Anthropic's models, 0 only fills the prompt cache. */
    readonly max_tokens: number;
    /** Answers piece by piece, as server-sent events. */
    readonly stream?: boolean | null | undefined;
    /** How soon it is served. What costs more than the usual tier is refused with 400. */
    readonly service_tier?: "auto" | "default" | "standard" | "standard_only" | "on_demand" | "flex" | "unspecified" | null | undefined;
    readonly speed?: "standard" | null | undefined;
    readonly inference_geo?: "global" | null | undefined;
    readonly thread?: {
      readonly type: "create" | "continue";
      readonly previous_message_id?: string | null | undefined;
      readonly [name: string]: any;
    } | null | undefined;
    readonly fallbacks?: readonly unknown[] | null | undefined;
    readonly [name: string]: any;
  };
  /**
   * How many input tokens the contents would have, in the Gemini dialect. `contents` or `generateContentRequest` is
   * required.
   */
  readonly "models.count_tokens": {
    /** A model of `GET /v1/models`. */
    readonly model: string;
    readonly contents?: readonly unknown[] | Readonly<Record<string, any>> | string | undefined;
    readonly generateContentRequest?: {
      readonly contents: readonly unknown[] | Readonly<Record<string, any>> | string;
      readonly [name: string]: any;
    } | undefined;
    readonly generate_content_request?: {
      readonly contents: readonly unknown[] | Readonly<Record<string, any>> | string;
      readonly [name: string]: any;
    } | undefined;
    readonly [name: string]: any;
  };
  /**
   * Answers a conversation with a model, in the Gemini dialect. Tools that the vendor runs, such as a web search or
   * an MCP server, are refused with 400 unless the operator allows them. Members by which a router would ask
   * another model, or write more than is held, are always refused with 400.
   */
  readonly "models.generate_content": {
    /** A model of `GET /v1/models`. */
    readonly model: string;
    readonly contents: readonly unknown[] | Readonly<Record<string, any>> | string;
    readonly generationConfig?: {
      readonly maxOutputTokens?: number | null | undefined;
      readonly max_output_tokens?: number | null | undefined;
      readonly candidateCount?: number | null | undefined;
      readonly candidate_count?: number | null | undefined;
      readonly [name: string]: any;
    } | null | undefined;
    readonly generation_config?: {
      readonly maxOutputTokens?: number | null | undefined;
      readonly max_output_tokens?: number | null | undefined;
      readonly candidateCount?: number | null | undefined;
      readonly candidate_count?: number | null | undefined;
      readonly [name: string]: any;
    } | null | undefined;
    /** How soon it is served. What costs more than the usual tier is refused with 400. */
    readonly serviceTier?: "auto" | "default" | "standard" | "standard_only" | "on_demand" | "flex" | "unspecified" | null | undefined;
    /** How soon it is served. What costs more than the usual tier is refused with 400. */
    readonly service_tier?: "auto" | "default" | "standard" | "standard_only" | "on_demand" | "flex" | "unspecified" | null | undefined;
    readonly [name: string]: any;
  };
  /** One model that this key may call, with its price. */
  readonly "models.get": {
    /** The model's name; a slash in it may be escaped or not. */
    readonly id: string;
  };
  /** One model that this key may call in the Gemini dialect, in its shape. */
  readonly "models.get_gemini": {
    /** The model's name; a slash in it may be escaped or not. */
    readonly id: string;
  };
  /** Every model that this key may call, with its price, as OpenAI's and Anthropic's clients read them. */
  readonly "models.list": Readonly<Record<string, never>>;
  /** Every model that this key may call in the Gemini dialect, in its shape. */
  readonly "models.list_gemini": Readonly<Record<string, never>>;
  /**
   * Answers a conversation with a model piece by piece, in the Gemini dialect. Tools that the vendor runs, such as
   * a web search or an MCP server, are refused with 400 unless the operator allows them. Members by which a router
   * would ask another model, or write more than is held, are always refused with 400.
   */
  readonly "models.stream_generate_content": {
    /** A model of `GET /v1/models`. */
    readonly model: string;
    /** `sse` for server-sent events; otherwise a JSON array grows piece by piece. */
    readonly alt?: string | undefined;
    readonly contents: readonly unknown[] | Readonly<Record<string, any>> | string;
    readonly generationConfig?: {
      readonly maxOutputTokens?: number | null | undefined;
      readonly max_output_tokens?: number | null | undefined;
      readonly candidateCount?: number | null | undefined;
      readonly candidate_count?: number | null | undefined;
      readonly [name: string]: any;
    } | null | undefined;
    readonly generation_config?: {
      readonly maxOutputTokens?: number | null | undefined;
      readonly max_output_tokens?: number | null | undefined;
      readonly candidateCount?: number | null | undefined;
      readonly candidate_count?: number | null | undefined;
      readonly [name: string]: any;
    } | null | undefined;
    /** How soon it is served. What costs more than the usual tier is refused with 400. */
    readonly serviceTier?: "auto" | "default" | "standard" | "standard_only" | "on_demand" | "flex" | "unspecified" | null | undefined;
    /** How soon it is served. What costs more than the usual tier is refused with 400. */
    readonly service_tier?: "auto" | "default" | "standard" | "standard_only" | "on_demand" | "flex" | "unspecified" | null | undefined;
    readonly [name: string]: any;
  };
  /** One call of the account: what was held, used and charged, and why. */
  readonly "requests.get": {
    /** The `X-Request-ID` of the call's answer. */
    readonly request_id: string;
  };
  /** The account's calls, newest first, or those of a span of time. */
  readonly "requests.list": {
    /** How many to list; 20 when absent. */
    readonly limit?: number | undefined;
    /** next_cursor of the page before. */
    readonly cursor?: string | undefined;
    /** Only calls made then or later, Unix seconds. */
    readonly start_time?: number | undefined;
    /** Only calls made before then, Unix seconds. */
    readonly end_time?: number | undefined;
    /** Only calls of this operation. */
    readonly operation_id?: string | undefined;
    /** Only calls in this state. */
    readonly status?: "held" | "dispatched" | "settled" | "released" | "unknown" | undefined;
    /** Only calls of this key. */
    readonly key_id?: string | undefined;
    /** Only calls of this client that signed in. */
    readonly grant_id?: string | undefined;
    /** Only calls of this model. */
    readonly model?: string | undefined;
    /** Only calls with this outcome, such as those that failed. */
    readonly outcome?: "succeeded" | "failed" | "unknown" | undefined;
    /** Only the call made with this idempotency key: what became of it, without sending it again. */
    readonly idempotency_key?: string | undefined;
  };
  /**
   * Orders documents by their relevance to a query, best first. Results come highest `relevance_score` first.
   * `top_n` above the number of documents is clamped.
   */
  readonly "rerank.create": {
    /** Rerank model; the configured default serves when absent. */
    readonly model?: string | null | undefined;
    /** At most 65536 bytes. */
    readonly query: string;
    readonly documents: readonly string[];
    /** Return only the N most relevant documents. */
    readonly top_n?: number | null | undefined;
  };
  /** Searches the web, reads what it finds, and answers with citations. */
  readonly "research.deep_search": {
    /** What to find out. */
    readonly query: string;
    /** How to go about it, for vendors that take instructions. */
    readonly instructions?: string | undefined;
    /** How many citations the answer may have. */
    readonly max_results?: number | undefined;
  };
  /** The current stories of a user of the photo-sharing platform. */
  readonly "reseller.social_b.user_stories": Readonly<Record<string, any>>;
  /** Videos behind a search keyword on the short-video platform. */
  readonly "reseller.social_c.creator_search_insights_videos": {
    /** Search keyword. */
    readonly keyword: string;
    readonly [name: string]: any;
  };
  /** Suggestions for a search word in the short-video platform's shop. */
  readonly "reseller.social_c.search_word_suggestion": {
    /** Search keyword. */
    readonly search_word: string;
    readonly [name: string]: any;
  };
  /** What a tag is about and how much is posted under it. */
  readonly "reseller.social_c.tag_detail": {
    /** Tag without its leading #. */
    readonly tag_name: string;
    readonly [name: string]: any;
  };
  /**
   * Answers with any model through OpenAI's Responses interface. Only OpenAI keeps what was said for later calls.
   * Tools that the vendor runs, such as a web search or an MCP server, are refused with 400 unless the operator
   * allows them. Members by which a router would ask another model, or write more than is held, are always refused
   * with 400.
   */
  readonly "responses.create": {
    /** A model of `GET /v1/models`. */
    readonly model: string;
    /** What to answer: a text, or a list of items. */
    readonly input?: string | readonly unknown[] | null | undefined;
    /** The most tokens to answer with, thoughts included. The fewer, the less is held. */
    readonly max_output_tokens?: number | null | undefined;
    /** Answers piece by piece, as server-sent events. */
    readonly stream?: boolean | null | undefined;
    readonly background?: false | null | undefined;
    /** The response of this account that this one continues. */
    readonly previous_response_id?: string | null | undefined;
    /** How soon it is served. What costs more than the usual tier is refused with 400. */
    readonly service_tier?: "auto" | "default" | "standard" | "standard_only" | "on_demand" | "flex" | "unspecified" | null | undefined;
    readonly tools?: readonly {
      readonly type: string;
      readonly [name: string]: any;
    }[] | null | undefined;
    readonly [name: string]: any;
  };
  /**
   * Lets the linked account follow another. Acts for the account that is linked to the key; there is never a token
   * in the body.
   */
  readonly "social_a.follow": {
    readonly target_user_id: string;
  };
  /**
   * Begins to link a platform account to this key: the person opens `auth_url` and agrees there. The link works for
   * ten minutes, however many others are begun meanwhile; a key may have twenty open ones. Needed once for each
   * person, and again when the link has ended or other scopes are needed; not before every write.
   */
  readonly "social_a.link.start": {
    /** What the link may be used for; everything the write calls need when absent. */
    readonly scopes?: readonly ("follows.write" | "tweet.read" | "users.read" | "tweet.write" | "like.write" | "dm.read" | "dm.write" | "offline.access" | "tweet.moderate.write" | "users.email" | "follows.read" | "like.read" | "list.read" | "list.write" | "block.read" | "block.write" | "mute.read" | "mute.write" | "bookmark.read" | "bookmark.write" | "media.write" | "space.read")[] | undefined;
  };
  /** The platform accounts linked to this key, or to any key of the account for a credential that sees it. */
  readonly "social_a.links.list": Readonly<Record<string, never>>;
  /** Ends a link for ever, here and at the platform where it offers that. Repeated, it says when the link ended. */
  readonly "social_a.links.revoke": {
    /** The `link_id` of a linked account. */
    readonly link_id: string;
  };
  /** Posts that quote a tweet, newest first, page by page. */
  readonly "social_a.tweet.quotes": {
    /** Id of the quoted tweet. */
    readonly tweetId: string;
    /** Where to go on: the `next_cursor` of the page before. */
    readonly cursor?: string | undefined;
    readonly [name: string]: any;
  };
  /** Top-level comments of a post or reel of the photo-sharing platform, page by page. */
  readonly "social_b.post.comments": {
    /** Address of the post or reel. */
    readonly url: string;
    /** Where to go on: the `cursor` of the page before. */
    readonly cursor?: string | undefined;
    readonly [name: string]: any;
  };
  /** Asks the vendor to stop a task that is still waiting; what was made by then may be billed. */
  readonly "tasks.cancel": {
    /** The `output.task_id` of the call that created the task. */
    readonly task_id: string;
  };
  /**
   * How far a task of your account has come, and its result for as long as it can be fetched. Ask every three to
   * five seconds, never more than twice a second, until SUCCEEDED, FAILED or CANCELED. UNKNOWN is not final: it is
   * also what an unknown, foreign or expired id gets. An id in the query string is 500 `unsupported uri`.
   */
  readonly "tasks.get": {
    /** The `output.task_id` of the call that created the task. */
    readonly task_id: string;
  };
  /** Visits to a website and what visitors did there, by month. */
  readonly "traffic_analytics.website.traffic_engagement": Readonly<Record<string, any>>;
  /**
   * What was used and charged, in UTC days, for this key or its whole account. A window of at most 400 days that
   * starts no later than at the end of the current second and ends after it starts. Figures of the current second
   * are not final: to line up one window after the other, send an `end_time` of a few seconds ago.
   */
  readonly "usage.get": {
    /** Window start, Unix seconds. */
    readonly start_time: number;
    /** Window end, Unix seconds, exclusive; the end of the current second when absent. */
    readonly end_time?: number | undefined;
  };
  /**
   * Begins to make a video from a description; the answer is a task to ask about until it has ended. What the video
   * can cost is held until its task has ended, and charged once, by the seconds and resolution that were made (the
   * nearest whole number of seconds, at least one); where the vendor bills the videos that `input` refers to, their
   * seconds count too. The same `Idempotency-Key` and body answer again with the same task.
   */
  readonly "video.synthesis.create": {
    readonly model: string;
    readonly input: {
      readonly prompt: string;
      /** What the model looks at: a list of `type` and `url`. */
      readonly media?: unknown;
      /** A video that the model looks at. */
      readonly video_url?: unknown;
      /** Addresses of what the model looks at. */
      readonly reference_urls?: unknown;
      /** Addresses of videos that the model looks at. */
      readonly reference_video_urls?: unknown;
      readonly [name: string]: any;
    };
    readonly parameters?: {
      /** Seconds of video; -1 leaves them to the vendor. */
      readonly duration?: number | null | undefined;
      /** WIDTH*HEIGHT in pixels, such as "1280*720". */
      readonly size?: string | null | undefined;
      /** Such as "720P". */
      readonly resolution?: string | null | undefined;
      readonly [name: string]: any;
    } | null | undefined;
    readonly [name: string]: any;
  };
}

/** What each operation answers. */
export interface Outputs {
  readonly "chat.completions.create": ChatCompletion;
  readonly "credits.balance": Balance;
  readonly "embeddings.create": Embeddings;
  readonly "financial.metrics.snapshot": FinancialSnapshotAnswer;
  readonly "images.generate": Images;
  readonly "limits.get": Limits;
  readonly "limits.requests.create": QuotaApplication;
  readonly "messages.count_tokens": AnthropicTokenCount;
  readonly "messages.create": Message;
  readonly "models.count_tokens": GeminiTokenCount;
  readonly "models.generate_content": GeneratedContent;
  readonly "models.get": Model;
  readonly "models.get_gemini": GeminiModel;
  readonly "models.list": ModelList;
  readonly "models.list_gemini": GeminiModelList;
  readonly "models.stream_generate_content": readonly GeneratedContent[];
  readonly "requests.get": Receipt;
  readonly "requests.list": ReceiptPage;
  readonly "rerank.create": RerankResult;
  readonly "research.deep_search": ResearchAnswer;
  readonly "reseller.social_b.user_stories": ResellerEnvelope;
  readonly "reseller.social_c.creator_search_insights_videos": ResellerEnvelope;
  readonly "reseller.social_c.search_word_suggestion": ResellerEnvelope;
  readonly "reseller.social_c.tag_detail": ResellerEnvelope;
  readonly "responses.create": ModelResponse;
  readonly "social_a.follow": Followed;
  readonly "social_a.link.start": LinkBegun;
  readonly "social_a.links.list": LinkList;
  readonly "social_a.links.revoke": LinkEnded;
  readonly "social_a.tweet.quotes": TweetQuotes;
  readonly "social_b.post.comments": CommentPage;
  readonly "tasks.cancel": Task;
  readonly "tasks.get": Task;
  readonly "traffic_analytics.website.traffic_engagement": Readonly<Record<string, unknown>>;
  readonly "usage.get": UsageReport;
  readonly "video.synthesis.create": NewTask;
}

export interface AnthropicTokenCount {
  readonly input_tokens: number;
  readonly [name: string]: unknown;
}

export interface Balance {
  readonly currency: "USD";
  readonly balance_micros_usd: number;
  /** What running calls may still cost. */
  readonly held_micros_usd: number;
  /** Balance less what is held. */
  readonly available_micros_usd: number;
  /** The budget of this key; null when it has none. */
  readonly budget: Budget | null;
}

export interface Budget {
  readonly window: "day" | "month" | "total";
  readonly limit_micros_usd: number;
  readonly spent_micros_usd: number;
  readonly held_micros_usd: number;
  readonly remaining_micros_usd: number;
  /** Unix seconds; null for a total. */
  readonly resets_at: number | null;
}

export interface ChatCompletion {
  readonly id?: string | undefined;
  readonly object?: string | undefined;
  readonly created?: number | undefined;
  readonly model?: string | undefined;
  readonly choices: readonly {
    readonly index?: number | undefined;
    readonly message?: {
      readonly role?: string | undefined;
      readonly content?: unknown;
      readonly [name: string]: unknown;
    } | undefined;
    readonly finish_reason?: string | null | undefined;
    readonly [name: string]: unknown;
  }[];
  readonly usage?: {
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly total_tokens?: number | undefined;
    readonly [name: string]: unknown;
  } | null | undefined;
  readonly [name: string]: unknown;
}

export interface Comment {
  readonly id?: string | undefined;
  readonly text?: string | undefined;
  /** ISO 8601. */
  readonly created_at?: string | undefined;
  readonly comment_like_count?: number | undefined;
  /** Number of replies; the replies themselves are never returned. */
  readonly child_comment_count?: number | undefined;
  readonly user?: {
    readonly is_verified?: boolean | undefined;
    readonly id?: string | undefined;
    readonly pk?: string | undefined;
    readonly is_unpublished?: boolean | null | undefined;
    readonly profile_pic_url?: string | undefined;
    readonly username?: string | undefined;
    readonly fbid_v2?: string | undefined;
    readonly [name: string]: unknown;
  } | undefined;
  readonly [name: string]: unknown;
}

export interface CommentPage {
  readonly success: boolean;
  readonly credits_remaining?: number | undefined;
  readonly comments?: readonly Comment[] | undefined;
  /** Where to go on; null or absent after the last page. */
  readonly cursor?: string | null | undefined;
  readonly [name: string]: unknown;
}

/** In quote mode. */
export interface CostEstimate {
  readonly object: "cost_estimate";
  readonly operation_id: string;
  readonly currency: "USD";
  readonly estimate_kind: "exact" | "estimate";
  readonly estimated_cost_micros_usd: number;
  readonly max_cost_micros_usd: number;
  readonly may_exceed_estimate: boolean;
  readonly estimated_at: string;
  /** The version of the price of this operation and model. */
  readonly price_version: string;
  /** What the account's plan multiplies list prices by. */
  readonly plan_multiplier: string;
  readonly breakdown: readonly {
    readonly unit: string;
    readonly quantity: number;
    /** The list price of one unit. */
    readonly unit_price_usd: string;
    /** After the plan's multiplier; the lines add up to the estimate. */
    readonly cost_micros_usd: number;
  }[];
}

export interface Embeddings {
  readonly object?: string | undefined;
  readonly model?: string | undefined;
  readonly data: readonly {
    readonly index?: number | undefined;
    /** Numbers, or base64 when that was asked for. */
    readonly embedding: readonly number[] | string;
    readonly [name: string]: unknown;
  }[];
  readonly usage?: {
    readonly prompt_tokens?: number | undefined;
    readonly total_tokens?: number | undefined;
    readonly [name: string]: unknown;
  } | undefined;
  readonly [name: string]: unknown;
}

export interface FinancialSnapshot {
  readonly ticker?: string | null | undefined;
  readonly market_cap?: number | null | undefined;
  readonly enterprise_value?: number | null | undefined;
  readonly price_to_earnings_ratio?: number | null | undefined;
  readonly price_to_book_ratio?: number | null | undefined;
  readonly price_to_sales_ratio?: number | null | undefined;
  readonly enterprise_value_to_ebitda_ratio?: number | null | undefined;
  readonly enterprise_value_to_revenue_ratio?: number | null | undefined;
  readonly free_cash_flow_yield?: number | null | undefined;
  readonly peg_ratio?: number | null | undefined;
  readonly gross_margin?: number | null | undefined;
  readonly operating_margin?: number | null | undefined;
  readonly net_margin?: number | null | undefined;
  readonly return_on_equity?: number | null | undefined;
  readonly return_on_assets?: number | null | undefined;
  readonly return_on_invested_capital?: number | null | undefined;
  readonly asset_turnover?: number | null | undefined;
  readonly inventory_turnover?: number | null | undefined;
  readonly receivables_turnover?: number | null | undefined;
  readonly days_sales_outstanding?: number | null | undefined;
  readonly operating_cycle?: number | null | undefined;
  readonly working_capital_turnover?: number | null | undefined;
  readonly current_ratio?: number | null | undefined;
  readonly quick_ratio?: number | null | undefined;
  readonly cash_ratio?: number | null | undefined;
  readonly operating_cash_flow_ratio?: number | null | undefined;
  readonly debt_to_equity?: number | null | undefined;
  readonly debt_to_assets?: number | null | undefined;
  readonly interest_coverage?: number | null | undefined;
  readonly revenue_growth?: number | null | undefined;
  readonly earnings_growth?: number | null | undefined;
  readonly book_value_growth?: number | null | undefined;
  readonly earnings_per_share_growth?: number | null | undefined;
  readonly free_cash_flow_growth?: number | null | undefined;
  readonly operating_income_growth?: number | null | undefined;
  readonly ebitda_growth?: number | null | undefined;
  readonly payout_ratio?: number | null | undefined;
  readonly earnings_per_share?: number | null | undefined;
  readonly book_value_per_share?: number | null | undefined;
  readonly free_cash_flow_per_share?: number | null | undefined;
  readonly [name: string]: unknown;
}

export interface FinancialSnapshotAnswer {
  readonly snapshot: FinancialSnapshot;
  readonly [name: string]: unknown;
}

export interface Followed {
  readonly data: {
    readonly following: boolean;
    readonly pending_follow?: boolean | undefined;
    readonly [name: string]: unknown;
  };
  readonly [name: string]: unknown;
}

export interface GeminiModel {
  readonly name: string;
  readonly displayName: string;
  /** The most a conversation can hold; left out when nobody wrote it down. */
  readonly inputTokenLimit?: number | undefined;
  /**
   * The highest limit of output that its vendor takes. Of a model that only the operator knows, the most it writes
   * for a caller who sets no limit.
   */
  readonly outputTokenLimit: number;
  readonly supportedGenerationMethods: readonly string[];
}

export interface GeminiModelList {
  readonly models: readonly GeminiModel[];
}

export interface GeminiTokenCount {
  readonly totalTokens: number;
  readonly [name: string]: unknown;
}

export interface GeneratedContent {
  readonly candidates?: readonly {
    readonly content?: {
      readonly role?: string | undefined;
      readonly parts?: readonly (Readonly<Record<string, unknown>>)[] | undefined;
      readonly [name: string]: unknown;
    } | undefined;
    readonly finishReason?: string | undefined;
    readonly index?: number | undefined;
    readonly [name: string]: unknown;
  }[] | undefined;
  readonly usageMetadata?: {
    readonly promptTokenCount?: number | undefined;
    readonly candidatesTokenCount?: number | undefined;
    readonly totalTokenCount?: number | undefined;
    readonly [name: string]: unknown;
  } | undefined;
  readonly modelVersion?: string | undefined;
  readonly responseId?: string | undefined;
  readonly [name: string]: unknown;
}

export interface Images {
  readonly created?: number | undefined;
  readonly data: readonly {
    readonly b64_json?: string | undefined;
    readonly url?: string | undefined;
    readonly [name: string]: unknown;
  }[];
  readonly usage?: {
    readonly input_tokens?: number | undefined;
    readonly output_tokens?: number | undefined;
    readonly [name: string]: unknown;
  } | null | undefined;
  readonly [name: string]: unknown;
}

export interface Limits {
  readonly workspace_id: string;
  readonly key_id: string;
  readonly tier: "free" | "starter" | "growth" | "enterprise";
  readonly limits: readonly {
    readonly name: string;
    /** Operation ids, or all. */
    readonly applies_to: "all" | readonly string[];
    readonly limit: number;
    readonly remaining: number;
    /** Unix seconds. */
    readonly reset: number;
  }[];
  readonly budget: Budget | null;
  /** What the sign-in of an access token may spend a day; null for a key. */
  readonly sign_in_budget: Budget | null;
  /** The only models that the key may call; null where it may call all. */
  readonly allowed_models: readonly string[] | null;
  /** The only operations that the key may call of those that vendors serve; null where it may call all. */
  readonly allowed_operations: readonly string[] | null;
}

export interface Link {
  readonly link_id: string;
  readonly key_id: string;
  /** Whose account; null while the platform has not said. */
  readonly user: {
    readonly id: string;
    readonly username: string;
  } | null;
  readonly scopes: readonly string[];
  readonly status: "active" | "expired" | "revoked";
  readonly created_at: string;
}

export interface LinkBegun {
  /** Where the person agrees. */
  readonly auth_url: string;
  /** Opaque; comes back to our own callback, not to you. */
  readonly state: string;
  readonly expires_at: string;
}

export interface LinkEnded {
  readonly link_id: string;
  readonly key_id: string;
  /** Whose account; null while the platform has not said. */
  readonly user: {
    readonly id: string;
    readonly username: string;
  } | null;
  readonly scopes: readonly string[];
  readonly status: "active" | "expired" | "revoked";
  readonly created_at: string;
  readonly revoked_at: string;
  /** Whether the platform was told, too; absent when the link had ended before. */
  readonly platform?: "revoked" | "not_offered" | "not_reached" | undefined;
}

export interface LinkList {
  readonly object: "list";
  readonly data: readonly Link[];
}

export interface Message {
  readonly id?: string | undefined;
  readonly type: "message";
  readonly role: "assistant";
  readonly model?: string | undefined;
  readonly content: readonly {
    readonly type: string;
    readonly [name: string]: unknown;
  }[];
  readonly stop_reason?: string | null | undefined;
  readonly stop_sequence?: string | null | undefined;
  readonly usage?: {
    readonly input_tokens: number;
    readonly output_tokens: number;
    readonly [name: string]: unknown;
  } | undefined;
  readonly [name: string]: unknown;
}

export interface Model {
  readonly object: "model";
  readonly type: "model";
  readonly created: number;
  /** Always the epoch: vendors do not say when a model was made. */
  readonly created_at: string;
  readonly id: string;
  readonly display_name: string;
  /** chat, rerank, embedding, image, video. */
  readonly kind: string;
  readonly owned_by: string;
  /**
   * The highest limit of output that its vendor takes. Of a model that only the operator knows, the most it writes
   * for a caller who sets no limit. Null of models that do not converse.
   */
  readonly max_output_tokens: number | null;
  /** The limit that is sent, and held for, when a caller sets none. Null of models that do not converse. */
  readonly default_output_tokens: number | null;
  /** The most a conversation can hold, input and output together; null when nobody wrote it down. */
  readonly context_tokens: number | null;
  /** USD per 1,000,000 tokens, as decimal strings, by price word. */
  readonly price_usd_per_million_tokens: Readonly<Record<string, string>>;
  /** USD per second of video, as decimal strings, by resolution; of video models only. */
  readonly price_usd_per_second?: Readonly<Record<string, string>> | undefined;
  /**
   * The version of its price at the first operation that offers it to this key. Each operation has one of its own,
   * which is what quotes and receipts name; `x-price` in the contract has them all.
   */
  readonly price_version: string;
}

export interface ModelList {
  readonly object: "list";
  readonly data: readonly Model[];
  /** Always false: the list is complete. */
  readonly has_more: false;
  readonly first_id: string | null;
  readonly last_id: string | null;
}

export interface ModelResponse {
  readonly id: string;
  readonly object: "response";
  readonly status?: string | undefined;
  readonly model?: string | undefined;
  readonly output: readonly {
    readonly type: string;
    readonly [name: string]: unknown;
  }[];
  readonly usage?: {
    readonly input_tokens: number;
    readonly output_tokens: number;
    readonly [name: string]: unknown;
  } | null | undefined;
  readonly [name: string]: unknown;
}

export interface NewTask {
  readonly output: {
    readonly task_id: string;
    readonly task_status: "PENDING" | "RUNNING";
  };
  readonly request_id: string;
}

export interface QuotaApplication {
  readonly object: "quota_application";
  readonly id: string;
  readonly workspace_id: string;
  readonly status: "open" | "approved" | "denied";
  readonly created_at: string;
}

export interface Receipt {
  readonly request_id: string;
  readonly operation_id: string;
  readonly key_id: string;
  /** The client that made the call, signed in with the key; null when the key itself was used. */
  readonly client: {
    readonly grant_id: string;
    /** As it called itself when it was let in. */
    readonly name: string;
  } | null;
  readonly model: string | null;
  readonly created_at: string;
  readonly settled_at: string | null;
  readonly status: "held" | "dispatched" | "settled" | "released" | "unknown";
  readonly outcome: "succeeded" | "failed" | "unknown" | null;
  readonly http_status: number | null;
  readonly attempts: readonly {
    readonly upstream: string;
    /**
     * What came of it, such as `answered`, `timeout` or `rate_limited`; of a stream `streaming` when it came to its
     * end, else `broke_off`, `gave_up`, `caller_left`, or `caller_stalled` when it ended too early after the caller
     * had stopped reading for a while; `gateway_stopped` when the gateway stopped before the end.
     */
    readonly outcome: string;
    readonly status: number | null;
    readonly started_at: string;
    readonly ended_at: string;
  }[];
  /** What was metered, by unit. */
  readonly usage: Readonly<Record<string, number>>;
  readonly usage_source: "provider" | "estimated" | "none";
  readonly prices: readonly {
    readonly unit: string;
    readonly quantity: number;
    readonly unit_price_usd: string;
  }[];
  /** The version of the price that the call was held under: that of its model at its operation. */
  readonly price_version: string;
  readonly plan_multiplier: string;
  readonly held_micros_usd: number;
  readonly usage_value_micros_usd: number;
  readonly charged_micros_usd: number;
  /** Why held, value and charge differ. */
  readonly explanation: string;
}

export interface ReceiptPage {
  readonly object: "list";
  readonly data: readonly Receipt[];
  /**
   * Whether there may be more. Where few calls fit a filter, a page can hold fewer than `limit`, or none, and still
   * be followed by another.
   */
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface RerankResult {
  readonly model: string;
  readonly results: readonly {
    /** Position in the input `documents`. */
    readonly index: number;
    readonly relevance_score: number;
    readonly document: {
      readonly text: string;
    };
  }[];
  readonly usage: {
    /** Tokens billed. */
    readonly total_tokens: number;
  };
}

export interface ResearchAnswer {
  readonly answer: string;
  readonly citations: readonly {
    readonly url: string;
    readonly title: string | null;
    readonly snippet: string | null;
    readonly date: string | null;
  }[];
  readonly usage: {
    /** What the vendor says the call cost, in whole micro-USD, rounded up. */
    readonly micro_usd?: number | undefined;
    /** What was read, where the vendor counts it. */
    readonly input_tokens?: number | undefined;
    /** What was written, where the vendor counts it. */
    readonly output_tokens?: number | undefined;
    readonly [name: string]: unknown;
  };
  readonly [name: string]: unknown;
}

export interface ResellerEnvelope {
  /** HTTP-style status; only 200 is charged. */
  readonly code: number;
  readonly request_id?: string | null | undefined;
  readonly message?: string | null | undefined;
  /** The message in Chinese. */
  readonly message_zh?: string | null | undefined;
  readonly support?: string | null | undefined;
  /** When the answer was made. */
  readonly time?: string | null | undefined;
  readonly time_stamp?: number | null | undefined;
  readonly time_zone?: string | null | undefined;
  /** Link to the endpoint's description. */
  readonly docs?: string | null | undefined;
  readonly cache_message?: string | null | undefined;
  readonly cache_message_zh?: string | null | undefined;
  /** The same answer for 24 hours, at no extra cost, for request tracing only. */
  readonly cache_url?: string | null | undefined;
  /** Endpoint that made the answer. */
  readonly router?: string | null | undefined;
  /** Parameters used in the request. */
  readonly params?: unknown;
  readonly data?: unknown;
  readonly [name: string]: unknown;
}

export interface Task {
  readonly output: {
    readonly task_id: string;
    readonly task_status: "PENDING" | "RUNNING" | "SUCCEEDED" | "FAILED" | "CANCELED" | "UNKNOWN";
    /** YYYY-MM-DD HH:MM:SS.mmm, UTC. */
    readonly submit_time?: string | undefined;
    /** YYYY-MM-DD HH:MM:SS.mmm, UTC. */
    readonly scheduled_time?: string | undefined;
    /** YYYY-MM-DD HH:MM:SS.mmm, UTC. */
    readonly end_time?: string | undefined;
    /** On SUCCEEDED; works for a few hours. */
    readonly video_url?: string | undefined;
    /** On SUCCEEDED. */
    readonly orig_prompt?: string | undefined;
    /** On FAILED, the vendor's word; `provider_unavailable` where it is about the operator. */
    readonly code?: string | undefined;
    /** On FAILED. */
    readonly message?: string | undefined;
  };
  /** On SUCCEEDED. */
  readonly usage?: {
    /** Seconds. */
    readonly output_video_duration: number;
    /** Seconds of the videos that the model looked at, where they are billed too. */
    readonly input_video_duration?: number | undefined;
    readonly video_count: number;
    /** The resolution's figure, such as 720. */
    readonly SR: number;
  } | undefined;
  readonly request_id: string;
}

export interface Tweet {
  readonly type?: string | null | undefined;
  readonly id?: string | null | undefined;
  readonly url?: string | null | undefined;
  readonly text?: string | null | undefined;
  readonly source?: string | null | undefined;
  readonly retweetCount?: number | null | undefined;
  readonly replyCount?: number | null | undefined;
  readonly likeCount?: number | null | undefined;
  readonly quoteCount?: number | null | undefined;
  readonly viewCount?: number | null | undefined;
  readonly bookmarkCount?: number | null | undefined;
  readonly createdAt?: string | null | undefined;
  readonly lang?: string | null | undefined;
  readonly isReply?: boolean | null | undefined;
  readonly inReplyToId?: string | null | undefined;
  readonly conversationId?: string | null | undefined;
  readonly inReplyToUserId?: string | null | undefined;
  readonly inReplyToUsername?: string | null | undefined;
  readonly displayTextRange?: readonly number[] | null | undefined;
  readonly author?: TweetAuthor | null | undefined;
  readonly entities?: TweetEntities | null | undefined;
  readonly quoted_tweet?: string | Readonly<Record<string, unknown>> | null | undefined;
  readonly retweeted_tweet?: string | Readonly<Record<string, unknown>> | null | undefined;
  readonly isLimitedReply?: boolean | null | undefined;
  readonly [name: string]: unknown;
}

export interface TweetAuthor {
  readonly type?: string | null | undefined;
  readonly userName?: string | null | undefined;
  readonly url?: string | null | undefined;
  readonly id?: string | null | undefined;
  readonly name?: string | null | undefined;
  readonly verifiedType?: string | null | undefined;
  readonly profilePicture?: string | null | undefined;
  readonly coverPicture?: string | null | undefined;
  readonly description?: string | null | undefined;
  readonly location?: string | null | undefined;
  readonly createdAt?: string | null | undefined;
  readonly automatedBy?: string | null | undefined;
  readonly message?: string | null | undefined;
  readonly unavailableReason?: string | null | undefined;
  readonly isBlueVerified?: boolean | null | undefined;
  readonly canDm?: boolean | null | undefined;
  readonly hasCustomTimelines?: boolean | null | undefined;
  readonly isTranslator?: boolean | null | undefined;
  readonly possiblySensitive?: boolean | null | undefined;
  readonly isAutomated?: boolean | null | undefined;
  readonly unavailable?: boolean | null | undefined;
  readonly followers?: number | null | undefined;
  readonly following?: number | null | undefined;
  readonly favouritesCount?: number | null | undefined;
  readonly mediaCount?: number | null | undefined;
  readonly statusesCount?: number | null | undefined;
  readonly withheldInCountries?: readonly string[] | null | undefined;
  readonly pinnedTweetIds?: readonly string[] | null | undefined;
  readonly [name: string]: unknown;
}

export interface TweetEntities {
  readonly hashtags?: readonly {
    readonly indices?: readonly number[] | undefined;
    readonly text?: string | null | undefined;
    readonly [name: string]: unknown;
  }[] | undefined;
  readonly urls?: readonly {
    readonly display_url?: string | null | undefined;
    readonly expanded_url?: string | null | undefined;
    readonly indices?: readonly number[] | undefined;
    readonly url?: string | null | undefined;
    readonly [name: string]: unknown;
  }[] | undefined;
  readonly user_mentions?: readonly {
    readonly id_str?: string | null | undefined;
    readonly name?: string | null | undefined;
    readonly screen_name?: string | null | undefined;
    readonly [name: string]: unknown;
  }[] | undefined;
  readonly [name: string]: unknown;
}

export interface TweetQuotes {
  readonly tweets?: readonly Tweet[] | undefined;
  readonly has_next_page?: boolean | undefined;
  readonly next_cursor?: string | null | undefined;
  /** `error` marks a failure; such an answer is not charged. */
  readonly status?: string | undefined;
  readonly message?: string | null | undefined;
  readonly [name: string]: unknown;
}

export interface UsageBucket {
  readonly start_time: number;
  readonly end_time: number;
  /** Admitted calls. */
  readonly requests: number;
  /** Admitted calls that did not succeed. */
  readonly failed_requests: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_read_tokens: number;
  readonly cache_write_tokens: number;
  /** Metered value at list price, micro-USD. */
  readonly usage_value_micros_usd: number;
  /** Amount actually charged, micro-USD. */
  readonly charged_micros_usd: number;
}

export interface UsageReport {
  /** What the credential sees: one key, or the whole account. */
  readonly scope: "key" | "account";
  readonly currency: "USD";
  /** Window start, Unix seconds. */
  readonly start_time: number;
  /** Window end, Unix seconds, exclusive. */
  readonly end_time: number;
  readonly bucket_width: "1d";
  readonly totals: UsageTotals;
  /** UTC days, clipped to the window, ordered by time; their sums are the totals. */
  readonly buckets: readonly UsageBucket[];
}

export interface UsageTotals {
  /** Admitted calls. */
  readonly requests: number;
  /** Admitted calls that did not succeed. */
  readonly failed_requests: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_read_tokens: number;
  readonly cache_write_tokens: number;
  /** Metered value at list price, micro-USD. */
  readonly usage_value_micros_usd: number;
  /** Amount actually charged, micro-USD. */
  readonly charged_micros_usd: number;
}
