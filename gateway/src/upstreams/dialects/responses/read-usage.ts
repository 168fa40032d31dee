import { isJsonObject, objectOrEmpty, type JsonObject } from "../../../platform/json.ts";
import { readCount } from "../../../prices/read-count.ts";
import type { ChatUsage } from "../chat.ts";

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
  const written = Math.min(count(details, "cache_write_tokens") ?? 0, whole - cacheRead);
  const input = whole - cacheRead - written;
  // What is kept for twelve hours, and not for thirty minutes, is sold at the price of what is kept longer.
  const lifetimes = objectOrEmpty(details["cache_write_tokens_details"]);
  const cacheWrite1h = Math.min(count(lifetimes, "ttl_12h_tokens") ?? 0, written);
  const thought = count(objectOrEmpty(usage["output_tokens_details"]), "reasoning_tokens");
  const reasoning = thought === undefined ? undefined : Math.min(thought, output);
  return { input, output, cacheRead, cacheWrite: written - cacheWrite1h, cacheWrite1h, reasoning };
}

export const modelIn = ({ model }: JsonObject): string | undefined =>
  typeof model === "string" ? model : undefined;
