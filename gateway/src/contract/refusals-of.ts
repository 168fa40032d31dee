import { conflicts } from "../ledger/refuse-earlier.ts";
import {
  changesFreely,
  isAboutTask,
  isSold,
  modelKindOf,
  takesIdempotencyKey,
  type Operation,
} from "../operation/operation.ts";
import type { RefusalCode } from "../platform/refusals.ts";

/** Every refusal that the life of a call can give this operation, in the order of that life. */
export function refusalsOf(operation: Operation): readonly RefusalCode[] {
  const { price, limits, body, hidden, refuses = [] } = operation;
  const codes: RefusalCode[] = [
    hidden ? "unknown_endpoint" : "missing_api_key",
    "invalid_api_key",
    "expired_api_key",
    "authentication_unavailable",
    "rate_limit_exceeded",
    "invalid_parameters",
    "internal",
  ];
  if (body) codes.push("request_timeout", "payload_too_large", "unsupported_media_type", "quota_exceeded");
  if (price.kind === "free") codes.push("cost_quote_unsupported");
  if (modelKindOf(operation) !== undefined) codes.push("model_not_found");
  if (price.kind === "free" && isSold(operation)) codes.push("billing_config_invalid", "account_suspended");
  if (readsBooks(operation)) codes.push("billing_dependency_timeout", "billing_unavailable");
  if (hearsUpstream(operation))
    codes.push("upstream_rate_limit", "provider_request_failed", "provider_unavailable");
  if (price.kind !== "free") {
    codes.push(
      ...conflictsOf(operation),
      "estimated_price_exceeds_max_price",
      "budget_exceeded",
      "insufficient_balance",
      "account_suspended",
      // What an access token may be told, and a key never is.
      "insufficient_scope",
      "approval_required",
      "billing_dependency_timeout",
      "billing_unavailable",
      "billing_config_invalid",
    );
    if (limits?.slot) codes.push("quota_exceeded");
  }
  if (changesFreely(operation)) codes.push("insufficient_scope");
  if (isSold(operation)) {
    codes.push("not_allowed_for_key");
    if (operation.task) codes.push("quota_exceeded");
    if (operation.link) codes.push("link_required", "link_expired");
  }
  return [...new Set([...codes, ...refuses])];
}

/** Whether the caller may hear an upstream's own words. What is told of a task's state is always ours. */
export const hearsUpstream = (operation: Operation): boolean =>
  isSold(operation) || (isAboutTask(operation) && operation.aboutTask === "cancel");

/** What the gateway answers itself is in the books; only models are told of by the offer alone. */
const readsBooks = (operation: Operation): boolean =>
  isAboutTask(operation) || (!isSold(operation) && operation.category !== "models");

function conflictsOf(operation: Operation): RefusalCode[] {
  if (!takesIdempotencyKey(operation)) return [];
  const prefix = operation.idempotency?.codePrefix ?? "";
  return conflicts.map((code): RefusalCode => `${prefix}${code}`);
}
