// Errors that vendors tell with the status of a success.

import { isJsonObject, type JsonObject } from "../platform/json.ts";
import { hiddenErrorStatus } from "./protocol.ts";

export const saysError = (json: unknown): json is JsonObject =>
  isJsonObject(json) && (json["error"] ?? null) !== null;

/** Routers of other vendors' models say the status in the error once they have sent the head of a success. */
export function statusSaidIn({ error }: JsonObject): number {
  const code = isJsonObject(error) ? Number(error["code"]) : Number.NaN;
  return Number.isInteger(code) && code >= 400 && code <= 599 ? code : hiddenErrorStatus;
}
