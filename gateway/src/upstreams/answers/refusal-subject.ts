import type { WithheldRefusal } from "../../operation/withheld-refusal.ts";
import { isJsonObject, type JsonObject } from "../../platform/json.ts";
import { errorBodyOf, readErrorMessage } from "../dialects/dialect-errors.ts";
import { detailsCodeOf, errorIn, hiddenErrorStatus, statusSaidIn } from "./hidden-error.ts";
import { aboutOurKey, type OperatorWords } from "../protocol.ts";

/**
 * What a vendor's refusal is about, where its words say more than its status: what the caller wrote, the operator's
 * account, which has nothing left to pay with, or this one call, which is larger than the account can pay for. Undefined
 * leaves it to the status.
 */
function refusalSubject(status: number, json: unknown): "content" | "credit" | "call_size" | undefined {
  if (status === 402) return isAboutSize(readErrorMessage(json)) ? "call_size" : "credit";
  const error = errorIn(errorBodyOf(json));
  const words = [error["code"], error["type"], detailsCodeOf(error)];
  if (words.some((word) => aboutCredit.has(word)) || isCreditInWords(status, json)) return "credit";
  if (status !== 403) return undefined;
  return isFlagged(error) || words.some((word) => aboutContent.has(word)) ? "content" : undefined;
}

/** What is made of a refusal that is not passed on as it came; undefined for any other. */
export function refusedOf(
  status: number,
  json: unknown,
  retryAfterSeconds?: number,
): WithheldRefusal | undefined {
  const subject = refusalSubject(status, json);
  const outOfCredit = subject === "credit" || undefined;
  if (status === 429) return { kind: "rate_limited", status, retryAfterSeconds, outOfCredit };
  // What the caller wrote is the caller's to mend, and another key would not help.
  if (!isAboutOperator(status, json)) return undefined;
  return { kind: "key_rejected", status, outOfCredit, callTooLarge: subject === "call_size" || undefined };
}

/** What is made of one that only its vendor's own words tell to be about the operator. */
export function refusedInWords(
  status: number,
  json: unknown,
  words: OperatorWords,
): WithheldRefusal | undefined {
  // Inside an answer of success some of these say no status; with one of their own they are 400.
  const meant = status === hiddenErrorStatus ? 400 : status;
  if (words.isAboutOperator?.(meant, json) !== true) return undefined;
  const outOfCredit = status === 402 || words.isOutOfCredit?.(meant, json) || undefined;
  return { kind: "key_rejected", status, outOfCredit };
}

/** A refusal in the middle of an answer; undefined where it is the caller's to know. */
export function withheldRefusal(json: JsonObject, words: OperatorWords): WithheldRefusal | undefined {
  const status = statusSaidIn(json);
  return isAboutOperator(status, json) ? refusedOf(status, json) : refusedInWords(status, json, words);
}

/** What a vendor says of the operator's key or credit is no business of the caller's. */
export function isAboutOperator(status: number, json: unknown): boolean {
  const subject = refusalSubject(status, json);
  return subject === "credit" || (aboutOurKey.has(status) && subject !== "content");
}

/** As OpenAI says it with a 429, and of images with a 400; then Moonshot, Anthropic, Alibaba, Z.ai, MiniMax and LiteLLM. */
const aboutCredit: ReadonlySet<unknown> = new Set([
  "insufficient_quota",
  "billing_not_active",
  "billing_hard_limit_reached",
  "credit_balance_exhausted",
  "project_spend_limit_exceeded",
  "organization_spend_limit_exceeded",
  "organization_usage_limit_exceeded",
  "exceeded_current_quota_error",
  "enforced_spend_limit_reached",
  "Arrearage",
  "1113",
  "insufficient_balance_error",
  "budget_exceeded",
]);

/**
 * As Fireworks says it with a 412, and MiniMax with a 500. Never of a 400 or the like, whose sentence may begin with what
 * the caller wrote.
 */
const isCreditInWords = (status: number, json: unknown): boolean =>
  (status === 412 || status >= 500) &&
  /^(?:account \S+ is suspended|insufficient balance)\b/i.test(readErrorMessage(json));

/** As OpenRouter says it, which counts what an account can afford in tokens: where that is none, no call is small enough. */
const isAboutSize = (message: string): boolean =>
  namesTokens.test(message) && !/\bonly afford 0\b/i.test(message);

const namesTokens = /\bmax_(?:\w+_)?tokens\b|\bfewer (?:\w+ )?tokens\b|\btokens limit exceeded\b/i;

/** As OpenRouter says it. */
function isFlagged({ metadata }: JsonObject): boolean {
  if (!isJsonObject(metadata)) return false;
  return Array.isArray(metadata["reasons"]) || typeof metadata["flagged_input"] === "string";
}

const aboutContent: ReadonlySet<unknown> = new Set([
  "content_policy_violation",
  "content_filter",
  "moderation_blocked",
]);
