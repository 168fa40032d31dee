import { anthropicErrorType, geminiErrorStatus, openaiErrorType } from "../../platform/dialect-words.ts";
import { isJsonObject, objectOrEmpty, type JsonObject } from "../../platform/json.ts";
import type { SpokenDialect } from "./dialect.ts";

/** Whether a member that is called error tells of one: some servers send it empty with every piece of their answers. */
export const isErrorTold = (error: unknown): boolean =>
  typeof error === "object" && error !== null ? Object.keys(error).length > 0 : Boolean(error);

/** The sentence in a vendor's error, whichever of the three shapes it has, or that of a server that resembles one of them. */
export function readErrorMessage(json: unknown): string {
  const { error, errors, message, detail } = errorBodyOf(json);
  if (typeof error === "string") return error;
  const said = isJsonObject(error) ? error["message"] : message;
  // Mistral puts the details of what is wrong where others have a sentence; Cloudflare lists its errors.
  const places = [said, objectOrEmpty(said)["detail"], detail, errors];
  return (
    places.map(readDetail).find((sentence) => sentence !== undefined) ?? "the provider refused the request"
  );
}

/** Google puts an error in a list where the answer would have been one. */
export function errorBodyOf(json: unknown): JsonObject {
  const body: unknown = Array.isArray(json) ? json[0] : json;
  return objectOrEmpty(body);
}

/** Servers made with FastAPI say a text here, or list what is wrong with the request. */
function readDetail(detail: unknown): string | undefined {
  if (typeof detail === "string") return detail;
  if (!Array.isArray(detail)) return undefined;
  const sentences = detail
    .filter(isJsonObject)
    .flatMap(({ loc, msg, message = msg }) => (typeof message === "string" ? [placed(loc, message)] : []));
  return sentences.length === 0 ? undefined : sentences.join("; ");
}

/** Which member it is about stands in a list of its own, from the body on. */
function placed(loc: unknown, sentence: string): string {
  if (!Array.isArray(loc)) return sentence;
  const steps = loc.filter((step) => typeof step === "string" || typeof step === "number");
  const place = steps.slice(steps[0] === "body" ? 1 : 0).join(".");
  return place === "" ? sentence : `${place}: ${sentence}`;
}

/** A vendor's error said in another vendor's shape, for a caller that speaks that one. */
export function writeDialectError(dialect: SpokenDialect["name"], status: number, message: string): unknown {
  switch (dialect) {
    case "openai":
    case "responses":
      return { error: { message, type: openaiErrorType(status), param: null, code: null } };
    case "anthropic":
      return { type: "error", error: { type: anthropicErrorType(status), message } };
    case "gemini":
      return { error: { code: status, message, status: geminiErrorStatus(status) } };
  }
}
