import type { JsonObject } from "../../../platform/json.ts";
import type { ChatUsage } from "../chat.ts";

/** Cached tokens are inside the input here; ours are disjoint. Clients read all of these figures, so each is written. */
export function writeUsage(usage: ChatUsage): JsonObject {
  const { input, output, cacheRead, cacheWrite, cacheWrite1h, reasoning = 0 } = usage;
  const written = cacheWrite + cacheWrite1h;
  const read = input + cacheRead + written;
  return {
    input_tokens: read,
    input_tokens_details: {
      cached_tokens: cacheRead,
      cache_write_tokens: written,
      ...(cacheWrite1h > 0 ? { cache_write_tokens_details: writeLifetimes(usage) } : {}),
    },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: read + output,
  };
}

/** OpenAI's two times are others than those in which Claude's models are sold, but they too are sold at two prices. */
const writeLifetimes = ({ cacheWrite, cacheWrite1h }: ChatUsage): JsonObject => ({
  ttl_30m_tokens: cacheWrite,
  ttl_12h_tokens: cacheWrite1h,
});
