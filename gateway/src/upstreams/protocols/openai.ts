import type { Quantities } from "../../operation/quantities.ts";
import type { TokenReading } from "../../operation/upstream.ts";
import { isJsonObject, type JsonObject } from "../../platform/json.ts";
import type { Exchange, Protocol } from "../protocol.ts";
import { readCount } from "./read-count.ts";

const chat: Exchange = {
  request: ({ service, input, maxOutputTokens }) => ({
    method: "POST",
    path: service.path,
    body: chatBody(input.rawBody, input.body, maxOutputTokens),
  }),
  read: (json) => ({ tokens: readChatTokens(json) }),
};

export const openai: Protocol = {
  keyHeader: (key) => ["authorization", `Bearer ${key}`],
  exchanges: { chat },
};

/** Members by which a caller could send the operator's key elsewhere; they never leave this process. */
const notForUpstreams: ReadonlySet<string> = new Set([
  "api_base",
  "api_key",
  "base_url",
  "endpoint",
  "proxy",
  "extra_headers",
  "extra_body",
  "user_api_key",
]);

/**
 * The body as it came, byte for byte, unless something must change: a limit is added when the caller gave none
 * (it is what the hold was computed from), and members that are not for upstreams are dropped.
 */
function chatBody(
  raw: Uint8Array,
  parsed: unknown,
  maxOutputTokens: number | undefined,
): string | Uint8Array {
  const body = isJsonObject(parsed) ? parsed : {};
  const limited = hasLimit(body);
  const clean = !Object.keys(body).some((name) => notForUpstreams.has(name));
  if (clean && limited) return raw;
  const kept = Object.entries(body).filter(([name]) => !notForUpstreams.has(name));
  return JSON.stringify({
    ...Object.fromEntries(kept),
    ...(limited || maxOutputTokens === undefined ? {} : { max_completion_tokens: maxOutputTokens }),
  });
}

const hasLimit = (body: JsonObject): boolean =>
  typeof body["max_completion_tokens"] === "number" || typeof body["max_tokens"] === "number";

/** `prompt_tokens` includes the cached ones; ours are disjoint. */
function readChatTokens(json: unknown): TokenReading {
  const anomalies: string[] = [];
  const usage = isJsonObject(json) && isJsonObject(json["usage"]) ? json["usage"] : {};
  const details = isJsonObject(usage["prompt_tokens_details"]) ? usage["prompt_tokens_details"] : {};
  const prompt = readCount(usage["prompt_tokens"], "prompt_tokens", anomalies);
  const completion = readCount(usage["completion_tokens"], "completion_tokens", anomalies);
  const cached = readCount(details["cached_tokens"], "cached_tokens", anomalies) ?? 0;
  if (prompt !== undefined && cached > prompt) anomalies.push("cached_tokens exceed prompt_tokens");

  const cacheRead = Math.min(cached, prompt ?? 0);
  const used: Quantities | undefined =
    prompt === undefined || completion === undefined
      ? undefined
      : { input_tokens: prompt - cacheRead, output_tokens: completion, cache_read_tokens: cacheRead };
  return { used, estimate: used === undefined ? estimateFromText(json) : undefined, anomalies };
}

/** Four bytes a token is the usual rule of thumb; input is estimated by the price contract. */
function estimateFromText(json: unknown): Quantities | undefined {
  const choices = isJsonObject(json) && Array.isArray(json["choices"]) ? json["choices"] : [];
  let bytes = 0;
  for (const choice of choices) {
    const message: unknown = isJsonObject(choice) ? choice["message"] : undefined;
    if (!isJsonObject(message)) continue;
    if (typeof message["content"] === "string") bytes += Buffer.byteLength(message["content"]);
    if (Array.isArray(message["tool_calls"]))
      bytes += Buffer.byteLength(JSON.stringify(message["tool_calls"]));
  }
  return bytes === 0 ? undefined : { output_tokens: Math.ceil(bytes / 4) };
}
