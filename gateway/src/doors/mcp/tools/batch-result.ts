// What an agent is told of a batch: each call, whether it ran or not, and the totals.

import { capMicrosFromNumber, usdFromMicros, type Micros } from "../../../platform/money.ts";
import { CallRefused } from "../../../platform/refusals.ts";
import { toolError } from "./tool-errors.ts";
import {
  usdNumber,
  type ApprovalHandle,
  type BatchArguments,
  type BatchResult,
  type UseResult,
} from "./tool-shapes.ts";
import { approvalRequired, refusedCall } from "./use-tool.ts";

/** Calls that did not run have no result. */
export function summarize(given: BatchArguments, ran: readonly (UseResult | undefined)[]): BatchResult {
  const results = given.calls.map((call, index) => ({ index, ...(ran[index] ?? notStarted(call)) }));
  const count = (status: UseResult["status"]): number => ran.filter((one) => one?.status === status).length;
  const sum = (amount: (one: UseResult) => number | undefined): Micros =>
    ran.reduce((total, one) => total + BigInt(Math.round((one && amount(one)) ?? 0)), 0n);
  const settled = sum(({ settled_micros_usd }) => settled_micros_usd);
  const estimated = sum(({ estimate_usd = 0 }) => Number(capMicrosFromNumber(estimate_usd)));
  return {
    results,
    totals: {
      completed: count("completed"),
      accepted: count("accepted"),
      refused: count("refused") + count("approval_required"),
      failed: count("failed"),
      not_started: ran.filter((one) => one === undefined).length,
      estimate_usd: usdNumber(estimated),
      settled_usd: usdNumber(settled),
    },
  };
}

const notStarted = (call: BatchArguments["calls"][number]): UseResult => ({
  status: "refused",
  operation_id: call.operation_id,
  max_price_usd: call.max_price_usd,
  error: {
    code: "not_started",
    message: "This call was not started. Nothing was charged.",
    retryable: true,
    charged: "no",
  },
});

/** Nothing was executed, and every call says so. */
export function nothingRan(given: BatchArguments, refusal: CallRefused): BatchResult {
  const none = summarize(given, []);
  return {
    ...none,
    results: given.calls.map((call, index) => ({ index, ...refusedCall(call, refusal) })),
    totals: { ...none.totals, not_started: given.calls.length },
    error: toolError(refusal, "no"),
  };
}

/** None of them runs: the agent asked for all of these within one total, and chooses itself what to leave out. */
export function tooDear(
  given: BatchArguments,
  { togetherMicros, totalMicros }: { readonly togetherMicros: Micros; readonly totalMicros: Micros },
): BatchResult {
  const refusal = new CallRefused(
    "estimated_price_exceeds_max_price",
    `Together these calls may cost ${usdFromMicros(togetherMicros)} USD, more than max_total_price_usd allows ` +
      `(${usdFromMicros(totalMicros)} USD), so none of them was run.`,
  );
  const none = nothingRan(given, refusal);
  return { ...none, totals: { ...none.totals, estimate_usd: usdNumber(togetherMicros) } };
}

export function asking(given: BatchArguments, approval: ApprovalHandle): BatchResult {
  const none = summarize(given, []);
  const results = given.calls.map((call, index) => ({ index, ...approvalRequired(call, approval) }));
  const error = results[0]?.error;
  return {
    results,
    totals: { ...none.totals, not_started: given.calls.length },
    approval,
    ...(error ? { error } : {}),
  };
}
