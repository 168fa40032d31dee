import { anthropicErrorType, geminiErrorStatus, openaiErrorType } from "../../platform/dialect-words.ts";
import { isJsonObject } from "../../platform/json.ts";
import type { Dialect } from "./dialect.ts";

/** The sentence in a vendor's error, whichever of the three shapes it has. */
export function readErrorMessage(json: unknown): string {
  const error = isJsonObject(json) ? json["error"] : undefined;
  if (typeof error === "string") return error;
  const message = isJsonObject(error) ? error["message"] : isJsonObject(json) ? json["message"] : undefined;
  return typeof message === "string" ? message : "the provider refused the request";
}

/** A vendor's error said in another vendor's shape, for a caller that speaks that one. */
export function writeDialectError(dialect: Dialect["name"], status: number, message: string): unknown {
  switch (dialect) {
    case "openai":
      return { error: { message, type: openaiErrorType(status), param: null, code: null } };
    case "anthropic":
      return { type: "error", error: { type: anthropicErrorType(status), message } };
    case "gemini":
      return { error: { code: status, message, status: geminiErrorStatus(status) } };
  }
}
