import { isJsonObject, type JsonObject } from "../../platform/json.ts";
import { objectIn } from "../answers/answer-text.ts";
import type { SseEvent } from "../dialects/dialect.ts";
import { isTooDeep } from "../dialects/exact-json.ts";
import type { HttpOutcome } from "../http/http-client.ts";
import type { Exchange, OperatorWords } from "../protocol.ts";

/**
 * The error with which a stream begins in place of an answer, as the answer that it would have been had its vendor known of
 * it before the head. Nothing has reached the caller yet, so there is still a status to tell it by, and another upstream
 * to ask.
 */
export function failureToldIn(
  { data }: SseEvent,
  { exchange, protocol }: { readonly exchange: Exchange; readonly protocol: OperatorWords },
): HttpOutcome | undefined {
  // Nearly every stream begins otherwise, and is not parsed twice for that.
  if (!data.includes("error") || isTooDeep(data)) return undefined;
  const json = errorIn(data);
  const status = json && exchange.hiddenFailure?.(json, protocol);
  if (typeof status !== "number") return undefined;
  const body = Buffer.from(JSON.stringify(exchange.errorBody?.(json) ?? json));
  return {
    kind: "answered",
    status,
    contentType: "application/json",
    retryAfter: undefined,
    date: undefined,
    body,
  };
}

/** OpenAI's responses say it under no name in the events of a stream, or inside of the response that failed. */
function errorIn(data: string): JsonObject | undefined {
  const json = objectIn(data);
  if (!json) return undefined;
  const { type, response } = json;
  if (type === "response.failed" && isJsonObject(response)) return response;
  return type === "error" && json["error"] === undefined ? { error: json } : json;
}
