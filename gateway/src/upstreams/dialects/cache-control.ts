// How far to cache, in Anthropic's words, which callers and resellers of its models write in OpenAI's dialect, too.

import { isJsonObject, type JsonObject } from "../../platform/json.ts";
import type { Cacheable } from "./chat.ts";

export function readCacheControl(control: unknown): Cacheable["cache"] {
  if (!isJsonObject(control) || control["type"] !== "ephemeral") return undefined;
  return control["ttl"] === "1h" ? "1h" : "5m";
}

export const writeCacheControl = ({ cache }: Cacheable): JsonObject =>
  cache === undefined
    ? {}
    : { cache_control: cache === "1h" ? { type: "ephemeral", ttl: "1h" } : { type: "ephemeral" } };
