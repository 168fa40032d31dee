import type { Quantities } from "../../operation/quantities.ts";
import type { TokenReading } from "../../operation/upstream.ts";
import { isJsonObject, type JsonObject } from "../../platform/json.ts";
import type { Exchange, Protocol } from "../protocol.ts";
import { membersAsWritten } from "./json-members.ts";
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
 * (it is what the hold was computed from), and members that are not for upstreams are dropped. What stays is
 * never written anew.
 */
export function chatBody(
  raw: Uint8Array,
  parsed: unknown,
  maxOutputTokens: number | undefined,
): string | Uint8Array {
  const body = isJsonObject(parsed) ? parsed : {};
  const added = hasLimit(body) ? undefined : maxOutputTokens;
  const clean = !Object.keys(body).some((name) => notForUpstreams.has(name));
  if (clean && added === undefined) return raw;
  const members = membersAsWritten(decoder.decode(raw));
  for (const name of notForUpstreams) members.delete(name);
  if (added !== undefined) members.set("max_completion_tokens", `"max_completion_tokens":${added}`);
  return `{${[...members.values()].join(",")}}`;
}

const decoder = new TextDecoder();

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

/** Where a message can hold output; which of them a vendor fills depends on the model. */
const outputMembers = ["content", "reasoning_content", "refusal", "tool_calls", "function_call"] as const;

/** Four bytes a token is the usual rule of thumb; input is estimated by the price contract. */
function estimateFromText(json: unknown): Quantities | undefined {
  const choices = isJsonObject(json) && Array.isArray(json["choices"]) ? json["choices"] : [];
  let bytes = 0;
  for (const choice of choices) {
    const message: unknown = isJsonObject(choice) ? choice["message"] : undefined;
    if (isJsonObject(message)) for (const name of outputMembers) bytes += bytesOf(message[name]);
  }
  return bytes === 0 ? undefined : { output_tokens: Math.ceil(bytes / 4) };
}

function bytesOf(output: unknown): number {
  if (output === undefined || output === null) return 0;
  if (Array.isArray(output) && output.length === 0) return 0;
  return Buffer.byteLength(typeof output === "string" ? output : JSON.stringify(output));
}
