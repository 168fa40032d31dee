import { isJsonObject } from "../../../platform/json.ts";
import type { JsonObject } from "../../../platform/json.ts";
import type { ChatEvent } from "../chat.ts";

type StreamError = Extract<ChatEvent, { kind: "error" }>;

export function readStreamError(error: unknown): StreamError {
  const { status, message } = isJsonObject(error) ? error : { status: undefined, message: error };
  return {
    kind: "error",
    type: typeof status === "string" ? status : "INTERNAL",
    message: typeof message === "string" ? message : "the upstream gave up without saying why",
  };
}

const codes: Readonly<Record<string, number>> = {
  INVALID_ARGUMENT: 400,
  FAILED_PRECONDITION: 400,
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  NOT_FOUND: 404,
  RESOURCE_EXHAUSTED: 429,
  CANCELLED: 499,
  INTERNAL: 500,
  UNAVAILABLE: 503,
  DEADLINE_EXCEEDED: 504,
};

/** What the other vendors call their errors in the middle of a stream, by a word that occurs in it. */
const statusByWord = [
  [/overload|unavailable/i, "UNAVAILABLE"],
  [/rate|quota/i, "RESOURCE_EXHAUSTED"],
  [/timeout/i, "DEADLINE_EXCEEDED"],
  [/invalid/i, "INVALID_ARGUMENT"],
] as const;

export function writeStreamError({ type, message }: StreamError): JsonObject {
  const status = Object.hasOwn(codes, type)
    ? type
    : (statusByWord.find(([word]) => word.test(type))?.[1] ?? "INTERNAL");
  return { error: { code: codes[status] ?? 500, message, status } };
}
