// An error that ends an answer in its middle, without what it says of the operator: whose account met which of its limits.

import { isJsonObject, objectsIn, type JsonObject } from "../../platform/json.ts";
import { errorBodyOf, isErrorTold, readErrorMessage } from "../dialects/dialect-errors.ts";
import type { SseEvent } from "../dialects/dialect.ts";
import { withoutAccountIds } from "./account-ids.ts";
import { jsonIn } from "./answer-text.ts";
import { googleDetailsIn } from "./google-refusal.ts";
import { errorIn, saysError, statusSaidIn } from "./hidden-error.ts";
import { readDelayMs } from "./retry-after.ts";

/** What is said in place of an error's own words, in those that every dialect knows to write. */
interface ToldInstead {
  readonly message: string;
  readonly type?: string;
  readonly code?: string;
}

/** Undefined where an error speaks neither of a limit nor of an account, so that its own words may be told. */
export function toldInstead(json: JsonObject): ToldInstead | undefined {
  const message = readErrorMessage(json);
  if (statusSaidIn(json) === 429 || isLimitInWords(message)) return { ...busy, message: busyFor(json) };
  const unnamed = withoutAccountIds(message);
  return unnamed === message ? undefined : { message: unnamed };
}

/** The event of a stream as its caller may see it; undefined where that is as it came. */
export function eventWithoutLimits({ event, data }: SseEvent): SseEvent | undefined {
  // Nearly every event has no such member, and is not parsed for that. Inside of a text its quotes would be escaped.
  const told = data.includes('"error"') ? withoutLimits(errorBodyOf(jsonIn(data))) : undefined;
  return told && { event, data: JSON.stringify(told) };
}

/** The same of an event, or of a whole response. It may be in the response that failed, or in the choice that ended so. */
export function withoutLimits(json: JsonObject): JsonObject | undefined {
  const { response, choices } = json;
  const own = retold(json);
  const ofResponse = isJsonObject(response) ? retold(response) : undefined;
  const ofChoices = objectsIn(choices).some(retold);
  if (own === undefined && ofResponse === undefined && !ofChoices) return undefined;
  // OpenRouter names the account beside it.
  const { user_id: _account, ...others } = own ?? json;
  return {
    ...others,
    ...(ofResponse && { response: ofResponse }),
    ...(ofChoices && { choices: objectsIn(choices).map((choice) => retold(choice) ?? choice) }),
  };
}

/** Whatever holds an error, or is one; its type and code stay, by which clients decide what to do. */
function retold(holder: JsonObject): JsonObject | undefined {
  const isOne = holder["type"] === "error" || holder["object"] === "error";
  if (!isOne && !saysError(holder)) return undefined;
  const instead = toldInstead(holder);
  if (instead === undefined) return undefined;
  const { message } = instead;
  const { error } = holder;
  return {
    ...holder,
    // In a choice the message is the answer.
    ...(typeof holder["message"] === "string" && { message }),
    ...(isErrorTold(error) && { error: isJsonObject(error) ? errorSaying(message, error) : message }),
  };
}

/** Its other members are left out: Google counts the limits and names the project in details, OpenRouter repeats its vendor. */
function errorSaying(message: string, error: JsonObject): JsonObject {
  const kept = keptMembers.filter((name) => name in error).map((name) => [name, error[name]] as const);
  // Here Google says how long to wait.
  const details = googleDetailsIn({ error })
    .filter(({ retryDelay }) => retryDelay !== undefined)
    .map(({ "@type": type, retryDelay }) => ({ "@type": type, retryDelay }));
  return { ...Object.fromEntries(kept), message, ...(details.length > 0 && { details }) };
}

const keptMembers = ["type", "code", "status", "param"];

/** As OpenAI says it, and as every dialect has a word for it. */
const busy = { type: "rate_limit_error", code: "rate_limit_exceeded" } as const;

/** How long to wait is said in the words in which OpenAI says it, where agents such as Codex look for it. */
function busyFor(json: JsonObject): string {
  const delayMs = delayToldMs(json);
  return delayMs === undefined
    ? "The upstream is busy."
    : `The upstream is busy. Please try again in ${delayMs / 1_000}s.`;
}

function delayToldMs(json: JsonObject): number | undefined {
  const details = googleDetailsIn({ error: errorIn(json) });
  const [, inWords] = waitInWords.exec(readErrorMessage(json)) ?? [];
  return readDelayMs(details.find(({ retryDelay }) => retryDelay !== undefined)?.["retryDelay"] ?? inWords);
}

/** As OpenAI, Google and Azure say it. */
const waitInWords = /\b(?:try again|retry) (?:in|after) (\d[\w.]*(?: seconds?)?)\b/i;

/** A limit is told without its code, too. */
const isLimitInWords = (message: string): boolean => /^rate limit reached\b/i.test(message);
