// What a caller can learn about its own money. Everything here is free.

import {
  defineOperation,
  free,
  idempotencyKeyPattern,
  idempotencyKeyRule,
  refuse,
  reportDaysMax,
  secondsPerDay,
  z,
  type Receipt,
} from "../gateway/src/for-catalogues.ts";
import { balance, receipt, receiptPage, usageReport } from "./answers/own-answers.ts";

const pageSizeUsual = 20;
const pageSizeMax = 100;

/** Milliseconds have a digit more, and are refused. */
const unixSeconds = z
  .string()
  .regex(/^[1-9]\d{0,11}$/, "must be a positive Unix timestamp in whole seconds")
  .transform(Number)
  .meta({ type: "integer", format: "int64", minimum: 1, maximum: 999_999_999_999 });

const exampleFigures = {
  requests: 2,
  failed_requests: 0,
  input_tokens: 840,
  output_tokens: 120,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
  usage_value_micros_usd: 3_300,
  charged_micros_usd: 3_300,
};

export const usageGet = defineOperation({
  id: "usage.get",
  title: "Usage report",
  summary: "What was used and charged, in UTC days, for this key or its whole account.",
  keywords: ["spending", "cost", "tokens", "billing"],
  category: "account",
  method: "GET",
  path: "/v1/usage",
  shapeOf400: "message_only",
  query: z.object({
    start_time: unixSeconds.describe("Window start, Unix seconds."),
    end_time: unixSeconds
      .optional()
      .describe("Window end, Unix seconds, exclusive; the end of the current second when absent."),
  }),
  notes: `A window of at most ${reportDaysMax} days that starts no later than at the end of the current second and ends after it starts. Figures of the current second are not final: to line up one window after the other, send an \`end_time\` of a few seconds ago.`,
  response: usageReport,
  example: {
    query: { start_time: "1767225600", end_time: "1767312000" },
    response: {
      scope: "key",
      currency: "USD",
      start_time: 1767225600,
      end_time: 1767312000,
      bucket_width: "1d",
      totals: exampleFigures,
      buckets: [{ start_time: 1767225600, end_time: 1767312000, ...exampleFigures }],
    },
  },
  price: free,
  answer: (input, asker, selfService) => {
    const { start_time: startSeconds, end_time: endAsked } = input.query;
    const nowSeconds = Math.floor(asker.nowMs / 1000);
    // The current second counts too: a call that was just answered is in the report.
    const endUsual = nowSeconds + 1;
    // A report may begin where the one before has ended; in the same second there is nothing to tell yet.
    if (startSeconds > endUsual) refuse("invalid_parameters", "start_time must not be in the future");
    if (endAsked !== undefined && endAsked <= startSeconds) {
      refuse("invalid_parameters", "end_time must be after start_time");
    }
    if ((endAsked ?? nowSeconds) - startSeconds > reportDaysMax * secondsPerDay) {
      refuse("invalid_parameters", `the window must not be longer than ${reportDaysMax} days`);
    }
    return selfService.usage(asker, { startSeconds, endSeconds: endAsked ?? endUsual });
  },
});

export const creditsBalance = defineOperation({
  id: "credits.balance",
  title: "Balance",
  summary: "What the account has, what running calls hold of it, and this key's budget.",
  keywords: ["money left", "remaining credits", "funds"],
  category: "account",
  method: "GET",
  path: "/v1/credits/balance",
  response: balance,
  example: {},
  price: free,
  answer: (_input, asker, selfService) => selfService.balance(asker),
});

export const requestsGet = defineOperation({
  id: "requests.get",
  title: "Receipt",
  summary: "One call of the account: what was held, used and charged, and why.",
  keywords: ["invoice", "why charged", "cost of a call"],
  category: "account",
  method: "GET",
  path: "/v1/requests/{request_id}",
  params: { request_id: "The `X-Request-ID` of the call's answer." },
  response: receipt,
  refuses: ["request_not_found"],
  price: free,
  answer: async (input, asker, selfService) => {
    const receipt = await selfService.receipt(asker, input.params["request_id"] ?? "");
    return receipt ?? refuse("request_not_found", "there is no such request in this account");
  },
});

const receiptsQuery = z.object({
  limit: z
    .string()
    .regex(/^[1-9]\d{0,2}$/, `must be 1 to ${pageSizeMax}`)
    .transform(Number)
    .refine((limit) => limit <= pageSizeMax, `must be 1 to ${pageSizeMax}`)
    .meta({ type: "integer", minimum: 1, maximum: pageSizeMax })
    .optional()
    .describe(`How many to list; ${pageSizeUsual} when absent.`),
  cursor: z.string().max(100).optional().describe("next_cursor of the page before."),
  start_time: unixSeconds.optional().describe("Only calls made then or later, Unix seconds."),
  end_time: unixSeconds.optional().describe("Only calls made before then, Unix seconds."),
  operation_id: z.string().max(200).optional().describe("Only calls of this operation."),
  status: z
    .enum(["held", "dispatched", "settled", "released", "unknown"])
    .optional()
    .describe("Only calls in this state."),
  key_id: z.string().max(200).optional().describe("Only calls of this key."),
  grant_id: z.string().max(200).optional().describe("Only calls of this client that signed in."),
  model: z.string().max(200).optional().describe("Only calls of this model."),
  outcome: z
    .enum(["succeeded", "failed", "unknown"])
    .optional()
    .describe("Only calls with this outcome, such as those that failed."),
  idempotency_key: z
    .string()
    .regex(idempotencyKeyPattern, `must be ${idempotencyKeyRule}`)
    .optional()
    .describe("Only the call made with this idempotency key: what became of it, without sending it again."),
});

export const requestsList = defineOperation({
  id: "requests.list",
  title: "Receipts",
  summary: "The account's calls, newest first, or those of a span of time.",
  keywords: ["history", "log", "past requests"],
  category: "account",
  method: "GET",
  path: "/v1/requests",
  response: receiptPage,
  example: { query: { limit: "5" } },
  query: receiptsQuery,
  price: free,
  answer: async ({ query }, asker, selfService) => {
    const { start_time: startSeconds = 0, end_time: endSeconds = Infinity, cursor } = query;
    if (endSeconds <= startSeconds) refuse("invalid_parameters", "end_time must be after start_time");
    if (query.idempotency_key !== undefined) {
      if (cursor !== undefined) refuseCursor("there is one page only of an idempotency_key");
      const page = await selfService.receiptByKey(asker, query.idempotency_key);
      return { ...page, data: page.data.filter((call) => isWanted(call, query)) };
    }
    // Any text sorts somewhere among the ids, but only an id of this list is a place in it.
    if (cursor !== undefined && !(await selfService.receipt(asker, cursor))) {
      refuseCursor("expected the next_cursor of the page before");
    }
    return selfService.receipts(asker, {
      limit: query.limit ?? pageSizeUsual,
      before: cursor,
      madeFromMs: query.start_time && query.start_time * 1000,
      madeBeforeMs: query.end_time && query.end_time * 1000,
      operationId: query.operation_id,
      status: query.status,
      keyId: query.key_id,
      grantId: query.grant_id,
      model: query.model,
      outcome: query.outcome,
    });
  },
});

const refuseCursor = (why: string): never =>
  refuse("invalid_parameters", `cursor: ${why}`, { field: "cursor" });

/** The filters of the list, for the one call that an idempotency key names. */
function isWanted(call: Receipt, wanted: z.infer<typeof receiptsQuery>): boolean {
  const { start_time: startSeconds = 0, end_time: endSeconds = Infinity } = wanted;
  const madeAtMs = Date.parse(call.created_at);
  return (
    fits(wanted.operation_id, call.operation_id) &&
    fits(wanted.status, call.status) &&
    fits(wanted.key_id, call.key_id) &&
    fits(wanted.grant_id, call.client?.grant_id ?? null) &&
    fits(wanted.model, call.model) &&
    fits(wanted.outcome, call.outcome) &&
    madeAtMs >= startSeconds * 1000 &&
    madeAtMs < endSeconds * 1000
  );
}

const fits = (wanted: string | undefined, is: string | null): boolean =>
  wanted === undefined || wanted === is;
