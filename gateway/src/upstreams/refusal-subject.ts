import { isJsonObject, type JsonObject } from "../platform/json.ts";

/**
 * Whom a vendor's refusal is about, where its words say more than its status: what the caller wrote, or the operator's
 * account, which has nothing left to pay with. Undefined leaves it to the status.
 */
export function refusalSubject(status: number, json: unknown): "content" | "credit" | undefined {
  if (status === 402) return "credit";
  const error = isJsonObject(json) && isJsonObject(json["error"]) ? json["error"] : {};
  const words = [error["code"], error["type"]];
  if (status === 429) return words.includes("insufficient_quota") ? "credit" : undefined;
  if (status !== 403) return undefined;
  return isFlagged(error) || words.some((word) => aboutContent.has(word)) ? "content" : undefined;
}

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
