// Errors that vendors tell with the status of a success.

import type { HiddenFailure } from "../../operation/exchanged.ts";
import { isJsonObject, objectOrEmpty, type JsonObject } from "../../platform/json.ts";
import { isErrorTold } from "../dialects/dialect-errors.ts";

/** What a vendor's error is answered with when its own status says that nothing failed, and the error names none. */
export const hiddenErrorStatus = 502;

/** Why an answer with the status of a success is none; `answers` tells an error beside an answer from one in its place. */
export function hiddenFailureIn(
  json: unknown,
  answers: (json: JsonObject) => boolean,
): HiddenFailure | undefined {
  if (!isJsonObject(json)) return "malformed";
  return saysError(json) && !answers(json) ? statusSaidIn(json) : undefined;
}

/** Under its name, or the whole of it, as older servers of open models say it. */
export const saysError = (json: JsonObject): boolean =>
  isErrorTold(json["error"]) || json["object"] === "error";

/** Routers of other vendors' models say the status in the error once they have sent the head of a success; others a word. */
export function statusSaidIn(json: JsonObject): number {
  const error = errorIn(json);
  const said = [error["code"], error["status"], error["type"]];
  const number = said.map(Number).find(isErrorStatus);
  if (number !== undefined) return number;
  const words = said.map((word) => (typeof word === "string" ? word.toLowerCase() : ""));
  const word = words.find((each) => statusByWord.has(each));
  return statusByWord.get(word ?? "") ?? hiddenErrorStatus;
}

/** OpenAI's responses say it under no name in the events of a stream. */
export const errorIn = (json: JsonObject): JsonObject => (isJsonObject(json["error"]) ? json["error"] : json);

/** Anthropic's finer word beside the type of an error. */
export const detailsCodeOf = ({ details }: JsonObject): unknown => objectOrEmpty(details)["error_code"];

export const isErrorStatus = (status: number): boolean =>
  Number.isInteger(status) && status >= 400 && status <= 599;

/** By the words of the three dialects, and of those who resemble them, in small letters. */
const statusByWord: ReadonlyMap<string, number> = new Map(
  Object.entries({
    400: [
      "invalid_request_error",
      "invalid_argument",
      "badrequesterror",
      "context_length_exceeded",
      "content_filter",
      "content_policy_violation",
      "moderation_blocked",
      // What OpenAI's responses say of pictures and prompts.
      "invalid_prompt",
      "invalid_image",
      "invalid_image_format",
      "invalid_base64_image",
      "invalid_image_url",
      "invalid_image_mode",
      "image_too_large",
      "image_too_small",
      "image_parse_error",
      "image_content_policy_violation",
      "image_file_too_large",
      "unsupported_image_media_type",
      "empty_image_file",
      "failed_to_download_image",
      "image_file_not_found",
    ],
    401: ["authentication_error", "invalid_api_key", "unauthenticated", "unauthorized"],
    402: [
      "billing_error",
      "billing_hard_limit_reached",
      "insufficient_balance",
      "insufficient_credits",
      "payment_required",
      "arrearage",
    ],
    403: ["permission_error", "permission_denied"],
    404: ["not_found_error", "not_found", "model_not_found"],
    429: [
      "rate_limit_error",
      "rate_limit_exceeded",
      "resource_exhausted",
      "insufficient_quota",
      "billing_not_active",
      "credit_balance_exhausted",
      "project_spend_limit_exceeded",
      "organization_spend_limit_exceeded",
      "organization_usage_limit_exceeded",
      "exceeded_current_quota_error",
    ],
    503: ["unavailable", "service_unavailable"],
    504: ["timeout_error", "timeout", "deadline_exceeded"],
    529: ["overloaded_error"],
  }).flatMap(([status, words]) => words.map((word) => [word, Number(status)] as const)),
);
