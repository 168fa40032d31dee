import { isConflict } from "../../../ledger/refuse-earlier.ts";
import { usdFromMicros } from "../../../platform/money.ts";
import type { CallRefused, OriginalCall, RefusalCode, RefusalDetails } from "../../../platform/refusals.ts";
import { shortened } from "../../../platform/shortened.ts";
import type { ToolError } from "./tool-shapes.ts";

/** Agents know fewer words than HTTP callers; what is not here keeps its own, except that all conflicts are one. */
const words: Partial<Record<RefusalCode, string>> = {
  estimated_price_exceeds_max_price: "price_cap_exceeded",
  invalid_parameters: "invalid_arguments",
  unsupported_media_type: "invalid_arguments",
  payload_too_large: "invalid_arguments",
  unknown_endpoint: "unknown_operation",
  provider_request_failed: "upstream_error",
  provider_unavailable: "upstream_error",
};

/** A refusal in the agents' words. `charged` is what the books say about this attempt. */
export function toolError(refusal: CallRefused, charged: ToolError["charged"]): ToolError {
  const { status, details } = refusal;
  const message = shortened(refusal.message);
  const original = details.beside?.original;
  return {
    code: wordFor(refusal),
    message:
      charged === "no" && saysItIsFree.test(message)
        ? message
        : `${message}${endsSentence.test(message) ? "" : "."} ${original ? tellOf(original, details) : advice(charged)}`,
    // A limit passes by itself; of anything else the refusal says whether it does.
    retryable: charged === "no" && (details.retryable ?? status === 429),
    ...(details.retryAfterSeconds === undefined ? {} : { retry_after_seconds: details.retryAfterSeconds }),
    charged,
  };
}

/** A link that lacks scopes is told apart from a sign-in that does: different things help. */
function wordFor({ code, details }: CallRefused): string {
  if (details.inError?.["missing_scopes"] !== undefined) return "link_scope_missing";
  return isConflict(code) ? "idempotency_conflict" : (words[code] ?? code);
}

const endsSentence = /[.!?]$/;
/** As those do that are about an upstream. */
const saysItIsFree = /; nothing was charged\.$/;

/** An agent that heard only that this attempt was free would take the first one for free, and buy it again. */
const tellOf = (original: OriginalCall, { originalUnpaid = false }: RefusalDetails): string => {
  const first = `This attempt was not charged. The first one, request_id ${original.request_id}, is ${original.status}`;
  if (originalUnpaid) return `${first} and was free; it has no receipt.`;
  const charged = usdFromMicros(BigInt(original.charged_micros_usd));
  return `${first} and was charged ${charged} USD so far; look at its receipt (requests.get).`;
};

const advice = (charged: ToolError["charged"]): string =>
  charged === "no"
    ? "Nothing was charged."
    : charged === "yes"
      ? "This attempt was charged."
      : "It is not known whether this was charged; do not repeat it, look at the receipt (requests.get).";
