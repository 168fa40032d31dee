// How far to cache, in Anthropic's words, which callers and resellers of its models write in OpenAI's dialect, too.

import { isJsonObject, type JsonObject } from "../../platform/json.ts";
import type { Cacheable } from "./chat.ts";

export function readCacheControl(control: unknown): Cacheable["cache"] {
  if (!isJsonObject(control) || control["type"] !== "ephemeral") return undefined;
  return control["ttl"] === "1h" ? "1h" : "5m";
}

/** A mark on a whole message stands for one on its last part. */
export const withEndMarked = <Part extends Cacheable>(
  parts: readonly Part[],
  cache: Cacheable["cache"],
): readonly Part[] =>
  cache === undefined
    ? parts
    : parts.map((part, at) => (at === parts.length - 1 ? { ...part, cache } : part));

export const writeCacheControl = ({ cache }: Cacheable): JsonObject =>
  cache === undefined
    ? {}
    : { cache_control: cache === "1h" ? { type: "ephemeral", ttl: "1h" } : { type: "ephemeral" } };
