import type { JsonObject } from "../../../platform/json.ts";

interface StreamError {
  readonly message: string;
  readonly code?: string;
  readonly type?: string;
}

/** The members of an error event, twice: OpenAI's reference has them at the top, and its client and others look under `error`. */
export function writeError({ message, code, type = "server_error" }: StreamError): JsonObject {
  const error = { code: code ?? null, message, param: null };
  return { ...error, error: { type, ...error } };
}
