// OpenAI counts cached tokens inside the prompt; ours are disjoint.

import { isJsonObject, objectOrEmpty, type JsonObject } from "../../../platform/json.ts";
import { isPlainCount, readCount } from "../../../prices/read-count.ts";
import type { ChatUsage } from "../chat.ts";
import { withoutUndefined } from "../without-undefined.ts";

/** Odd figures are bent into range, and parts never exceed their whole: no bucket is negative. */
export function readUsage(value: unknown): ChatUsage | undefined {
  if (!isJsonObject(value)) return undefined;
  const prompt = count(value, "prompt_tokens");
  const completion = count(value, "completion_tokens");
  if (prompt === undefined || completion === undefined) return undefined;

  const promptDetails = objectOrEmpty(value["prompt_tokens_details"]);
  const cacheRead = Math.min(cachedIn(value, promptDetails), prompt);
  const lifetimes = lifetimesIn(value, promptDetails);
  const written = Math.min(writtenIn(value, promptDetails, lifetimes), prompt - cacheRead);
  const longer = count(lifetimes, "ephemeral_1h_input_tokens") ?? count(lifetimes, "ttl_12h_tokens") ?? 0;
  const cacheWrite1h = Math.min(longer, written);
  const completionDetails = objectOrEmpty(value["completion_tokens_details"]);
  const stated = count(completionDetails, "reasoning_tokens");
  const beside = besideCompletion(value, prompt + completion, stated);
  const reasoning = stated ?? (beside > 0 ? beside : undefined);
  const output = completion + beside;
  const input = prompt - cacheRead - written;
  const heard = Math.min(count(promptDetails, "audio_tokens") ?? 0, prompt - written);
  const spoken = Math.min(count(completionDetails, "audio_tokens") ?? 0, output);
  // Nobody says how much of what was cached was heard: no more than what is left is taken for it.
  const audio = { input: Math.min(heard, input), cacheRead: Math.max(0, heard - input), output: spoken };
  return {
    input,
    output,
    cacheRead,
    cacheWrite: written - cacheWrite1h,
    cacheWrite1h,
    reasoning: reasoning === undefined ? undefined : Math.min(reasoning, output),
    ...(heard + spoken > 0 ? { audio } : {}),
  };
}

/**
 * OpenAI counts thinking inside the completion; some compatible vendors beside it, which only their total shows. Google
 * does not even say how much of that was thought.
 */
function besideCompletion(
  usage: JsonObject,
  withoutReasoning: number,
  reasoning: number | undefined,
): number {
  const more = (count(usage, "total_tokens") ?? 0) - withoutReasoning;
  return more > 0 && (reasoning === undefined || reasoning === more) ? more : 0;
}

/** Not every compatible vendor puts it where OpenAI does. */
const cachedIn = (usage: JsonObject, details: JsonObject): number =>
  count(details, "cached_tokens") ??
  count(usage, "cached_tokens") ??
  count(usage, "prompt_cache_hit_tokens") ??
  0;

/**
 * LiteLLM has had several names for it, and Qwen has one of its own. By whichever, these tokens are among those of the
 * prompt.
 */
const writtenIn = (usage: JsonObject, details: JsonObject, lifetimes: JsonObject): number =>
  count(details, "cache_write_tokens") ??
  count(details, "cache_creation_tokens") ??
  count(details, "cache_creation_input_tokens") ??
  count(usage, "cache_creation_input_tokens") ??
  (count(lifetimes, "ephemeral_5m_input_tokens") ?? 0) + (count(lifetimes, "ephemeral_1h_input_tokens") ?? 0);

/**
 * How much of what was written is kept for minutes and how much for longer: for an hour, as who resells Claude may say, or
 * for twelve in OpenAI's own words.
 */
const lifetimesIn = (usage: JsonObject, details: JsonObject): JsonObject =>
  objectOrEmpty(
    details["cache_creation_token_details"] ??
      details["cache_creation"] ??
      usage["cache_creation"] ??
      details["cache_write_tokens_details"],
  );

export function writeUsage(usage: ChatUsage): JsonObject {
  const { reasoning, audio } = usage;
  const cacheWrites = usage.cacheWrite + usage.cacheWrite1h;
  const prompt = usage.input + usage.cacheRead + cacheWrites;
  return withoutUndefined({
    prompt_tokens: prompt,
    completion_tokens: usage.output,
    total_tokens: prompt + usage.output,
    prompt_tokens_details: withoutUndefined({
      cached_tokens: usage.cacheRead,
      cache_write_tokens: cacheWrites === 0 ? undefined : cacheWrites,
      cache_creation_token_details: usage.cacheWrite1h === 0 ? undefined : writeLifetimes(usage),
      audio_tokens: audio && audio.input + audio.cacheRead,
    }),
    completion_tokens_details:
      reasoning === undefined && audio === undefined
        ? undefined
        : withoutUndefined({ reasoning_tokens: reasoning, audio_tokens: audio?.output }),
  });
}

/** OpenAI has no words for it; these are LiteLLM's, by which a gateway behind this one can charge as this one does. */
const writeLifetimes = ({ cacheWrite, cacheWrite1h }: ChatUsage): JsonObject => ({
  ephemeral_5m_input_tokens: cacheWrite,
  ephemeral_1h_input_tokens: cacheWrite1h,
});

function count(from: JsonObject, name: string): number | undefined {
  const value = from[name];
  if (value === undefined) return undefined;
  return isPlainCount(value) ? value : readCount(value, name, []);
}
