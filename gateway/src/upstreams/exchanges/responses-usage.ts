import { isJsonObject, objectOrEmpty, type JsonObject } from "../../platform/json.ts";
import { readCount } from "../../prices/read-count.ts";
import type { ChatUsage } from "../dialects/chat.ts";

/** Cached tokens are inside the input here; ours are disjoint, and no bucket is negative. */
export function readUsage(usage: unknown, anomalies: string[]): ChatUsage | undefined {
  if (!isJsonObject(usage)) return undefined;
  const count = (from: JsonObject, name: string): number | undefined =>
    readCount(from[name], name, anomalies);
  const whole = count(usage, "input_tokens");
  const output = count(usage, "output_tokens");
  if (whole === undefined || output === undefined) return undefined;
  const details = objectOrEmpty(usage["input_tokens_details"]);
  const cacheRead = Math.min(count(details, "cached_tokens") ?? 0, whole);
  const cacheWrite = Math.min(count(details, "cache_write_tokens") ?? 0, whole - cacheRead);
  const input = whole - cacheRead - cacheWrite;
  return { input, output, cacheRead, cacheWrite, cacheWrite1h: 0, reasoning: undefined };
}

export const modelIn = ({ model }: JsonObject): string | undefined =>
  typeof model === "string" ? model : undefined;
