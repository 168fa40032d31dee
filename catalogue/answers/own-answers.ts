// What the gateway answers from its own books, member by member.

import { z } from "../../gateway/src/for-catalogues.ts";

const count = z.int().min(0).meta({ format: "int64" });
const unixSeconds = z.int().min(0).meta({ format: "int64" });
const microsUsd = z.int().meta({ format: "int64" });
const moment = z.iso.datetime();

const usageFigures = {
  requests: count.describe("Admitted calls."),
  failed_requests: count.describe("Admitted calls that did not succeed."),
  input_tokens: count,
  output_tokens: count,
  cache_read_tokens: count,
  cache_write_tokens: count,
  usage_value_micros_usd: microsUsd.describe("Metered value at list price, micro-USD."),
  charged_micros_usd: microsUsd.describe("Amount actually charged, micro-USD."),
};

export const usageReport = z
  .object({
    scope: z.enum(["key", "account"]).describe("What the credential sees: one key, or the whole account."),
    currency: z.literal("USD"),
    start_time: unixSeconds.describe("Window start, Unix seconds."),
    end_time: unixSeconds.describe("Window end, Unix seconds, exclusive."),
    bucket_width: z.literal("1d"),
    totals: z.object(usageFigures).meta({ id: "UsageTotals" }),
    buckets: z
      .array(
        z
          .object({ start_time: unixSeconds, end_time: unixSeconds, ...usageFigures })
          .meta({ id: "UsageBucket" }),
      )
      .describe("UTC days, clipped to the window, ordered by time; their sums are the totals."),
  })
  .meta({ id: "UsageReport" });

const budget = z
  .object({
    window: z.enum(["day", "month", "total"]),
    limit_micros_usd: microsUsd,
    spent_micros_usd: microsUsd,
    held_micros_usd: microsUsd,
    remaining_micros_usd: microsUsd,
    resets_at: unixSeconds.nullable().describe("Unix seconds; null for a total."),
  })
  .meta({ id: "Budget" });

export const balance = z
  .object({
    currency: z.literal("USD"),
    balance_micros_usd: microsUsd,
    held_micros_usd: microsUsd.describe("What running calls may still cost."),
    available_micros_usd: microsUsd.describe("Balance less what is held."),
    budget: budget.nullable().describe("The budget of this key; null when it has none."),
  })
  .meta({ id: "Balance" });

export const receipt = z
  .object({
    request_id: z.string(),
    operation_id: z.string(),
    key_id: z.string(),
    client: z
      .object({
        grant_id: z.string(),
        name: z.string().describe("As it called itself when it was let in."),
      })
      .nullable()
      .describe("The client that made the call, signed in with the key; null when the key itself was used."),
    model: z.string().nullable(),
    created_at: moment,
    settled_at: moment.nullable(),
    status: z.enum(["held", "dispatched", "settled", "released", "unknown"]),
    outcome: z.enum(["succeeded", "failed", "unknown"]).nullable(),
    http_status: z.int().nullable(),
    attempts: z.array(
      z.object({
        upstream: z.string(),
        outcome: z
          .string()
          .describe(
            "What came of it, such as `answered`, `timeout` or `rate_limited`; of a stream `streaming` when it came to its end, else `broke_off`, `gave_up`, `caller_left`, or `caller_stalled` when it ended too early after the caller had stopped reading for a while; `gateway_stopped` when the gateway stopped before the end.",
          ),
        status: z.int().nullable(),
        started_at: moment,
        ended_at: moment,
      }),
    ),
    usage: z.record(z.string(), count).describe("What was metered, by unit."),
    usage_source: z.enum(["provider", "estimated", "none"]),
    prices: z.array(z.object({ unit: z.string(), quantity: count, unit_price_usd: z.string() })),
    price_version: z
      .string()
      .describe("The version of the price that the call was held under: that of its model at its operation."),
    plan_multiplier: z.string(),
    held_micros_usd: microsUsd,
    usage_value_micros_usd: microsUsd,
    charged_micros_usd: microsUsd,
    explanation: z.string().describe("Why held, value and charge differ."),
  })
  .meta({ id: "Receipt" });

export const receiptPage = z
  .object({
    object: z.literal("list"),
    data: z.array(receipt),
    has_more: z
      .boolean()
      .describe(
        "Whether there may be more. Where few calls fit a filter, a page can hold fewer than `limit`, or none, and still be followed by another.",
      ),
    next_cursor: z.string().nullable(),
  })
  .meta({ id: "ReceiptPage" });

/** A name that ends in `*` stands for all that begin so. */
const patterns = z.array(z.string()).nullable();

export const limitsReport = z
  .object({
    workspace_id: z.string(),
    key_id: z.string(),
    tier: z.enum(["free", "starter", "growth", "enterprise"]),
    limits: z.array(
      z.object({
        name: z.string(),
        applies_to: z.union([z.literal("all"), z.array(z.string())]).describe("Operation ids, or all."),
        limit: count,
        remaining: count,
        reset: unixSeconds.describe("Unix seconds."),
      }),
    ),
    budget: budget.nullable(),
    sign_in_budget: budget
      .nullable()
      .describe("What the sign-in of an access token may spend a day; null for a key."),
    allowed_models: patterns.describe("The only models that the key may call; null where it may call all."),
    allowed_operations: patterns.describe(
      "The only operations that the key may call of those that vendors serve; null where it may call all.",
    ),
  })
  .meta({ id: "Limits" });

export const quotaApplication = z
  .object({
    object: z.literal("quota_application"),
    id: z.string(),
    workspace_id: z.string(),
    status: z.enum(["open", "approved", "denied"]),
    created_at: moment,
  })
  .meta({ id: "QuotaApplication" });

const ofOwnModels =
  "Of a model that only the operator knows, the most it writes for a caller who sets no limit.";

export const model = z
  .object({
    object: z.literal("model"),
    type: z.literal("model"),
    created: count,
    created_at: z.string().describe("Always the epoch: vendors do not say when a model was made."),
    id: z.string(),
    display_name: z.string(),
    kind: z.string().describe("chat, rerank, embedding, image, video."),
    owned_by: z.string(),
    max_output_tokens: count
      .nullable()
      .describe(
        `The highest limit of output that its vendor takes. ${ofOwnModels} Null of models that do not converse.`,
      ),
    default_output_tokens: count
      .nullable()
      .describe(
        "The limit that is sent, and held for, when a caller sets none. Null of models that do not converse.",
      ),
    context_tokens: count
      .nullable()
      .describe(
        "The most a conversation can hold, input and output together; null when nobody wrote it down.",
      ),
    price_usd_per_million_tokens: z
      .record(z.string(), z.string())
      .describe("USD per 1,000,000 tokens, as decimal strings, by price word."),
    price_usd_per_second: z
      .record(z.string(), z.string())
      .describe("USD per second of video, as decimal strings, by resolution; of video models only.")
      .optional(),
    price_version: z
      .string()
      .describe(
        "The version of its price at the first operation that offers it to this key. Each operation has one of its own, which is what quotes and receipts name; `x-price` in the contract has them all.",
      ),
  })
  .meta({ id: "Model" });

export const modelList = z
  .object({
    object: z.literal("list"),
    data: z.array(model),
    has_more: z.literal(false).describe("Always false: the list is complete."),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
  })
  .meta({ id: "ModelList" });

export const geminiModel = z
  .object({
    name: z.string(),
    displayName: z.string(),
    inputTokenLimit: count
      .optional()
      .describe("The most a conversation can hold; left out when nobody wrote it down."),
    outputTokenLimit: count.describe(`The highest limit of output that its vendor takes. ${ofOwnModels}`),
    supportedGenerationMethods: z.array(z.string()),
  })
  .meta({ id: "GeminiModel" });

export const geminiModelList = z.object({ models: z.array(geminiModel) }).meta({ id: "GeminiModelList" });
