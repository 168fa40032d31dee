// Anthropic's counts are disjoint, as ours are: input is without the cache, output includes the thinking.

import { isJsonObject, objectOrEmpty, type JsonObject } from "../../../platform/json.ts";
import { readCount } from "../../../prices/read-count.ts";
import type { ChatUsage } from "../chat.ts";

/** What a message used, and what summing up the conversation before it used: that is billed and not in the total. */
export function readUsage(value: unknown): ChatUsage | undefined {
  const usage = objectOrEmpty(value);
  return together(readCounts(usage), readCompactions(usage["iterations"]));
}

/**
 * What a stream says it used, in several reports: a later figure replaces the earlier one, member by member; null says
 * nothing. Whatever else stands in a report is not carried on, and a list is read when it comes: else a stream of many
 * reports would read them all again with each.
 */
export class ReportedUsage {
  readonly #counted: Record<string, unknown> = {};
  #compactions: ChatUsage | undefined;

  add(report: JsonObject): ChatUsage | undefined {
    for (const name of countedMembers) this.#counted[name] = report[name] ?? this.#counted[name];
    const { iterations } = report;
    if ((iterations ?? null) !== null) this.#compactions = readCompactions(iterations);
    return together(readCounts(this.#counted), this.#compactions);
  }
}

/** All that is read below. */
const countedMembers = [
  "input_tokens",
  "output_tokens",
  "cache_creation",
  "cache_creation_input_tokens",
  "cache_read_input_tokens",
  "output_tokens_details",
] as const;

function readCompactions(iterations: unknown): ChatUsage | undefined {
  if (!Array.isArray(iterations)) return undefined;
  return iterations.reduce<ChatUsage | undefined>((sum, iteration) => {
    const isCompaction = isJsonObject(iteration) && iteration["type"] === "compaction";
    const more = isCompaction ? readCounts(iteration) : undefined;
    return together(sum, more) ?? more;
  }, undefined);
}

/** The second is nothing without the first. */
const together = (own: ChatUsage | undefined, more: ChatUsage | undefined): ChatUsage | undefined =>
  own && more ? add(own, more) : own;

function readCounts(usage: JsonObject): ChatUsage | undefined {
  const input = count(usage["input_tokens"]);
  const output = count(usage["output_tokens"]);
  if (input === undefined && output === undefined) return undefined;

  const split = objectOrEmpty(usage["cache_creation"]);
  const hour = count(split["ephemeral_1h_input_tokens"]) ?? 0;
  // The total is what is charged; the split only says how much of it lives for an hour.
  const written =
    count(usage["cache_creation_input_tokens"]) ?? hour + (count(split["ephemeral_5m_input_tokens"]) ?? 0);
  const cacheWrite1h = Math.min(hour, written);
  return {
    input: input ?? 0,
    output: output ?? 0,
    cacheRead: count(usage["cache_read_input_tokens"]) ?? 0,
    cacheWrite: written - cacheWrite1h,
    cacheWrite1h,
    reasoning: count(objectOrEmpty(usage["output_tokens_details"])["thinking_tokens"]),
  };
}

const add = (one: ChatUsage, other: ChatUsage): ChatUsage => ({
  input: one.input + other.input,
  output: one.output + other.output,
  cacheRead: one.cacheRead + other.cacheRead,
  cacheWrite: one.cacheWrite + other.cacheWrite,
  cacheWrite1h: one.cacheWrite1h + other.cacheWrite1h,
  reasoning: one.reasoning,
});

/** As it stands in a message: nothing counted is zeros, since the member is not optional. */
export const writeUsage = (usage: ChatUsage | undefined): JsonObject => ({
  ...writeDeltaUsage(usage),
  cache_creation: {
    ephemeral_5m_input_tokens: usage?.cacheWrite ?? 0,
    ephemeral_1h_input_tokens: usage?.cacheWrite1h ?? 0,
  },
  service_tier: null,
  inference_geo: null,
  speed: null,
});

/** As it stands in the `message_delta` of a stream. */
export const writeDeltaUsage = (usage: ChatUsage | undefined): JsonObject => ({
  input_tokens: usage?.input ?? 0,
  cache_creation_input_tokens: usage === undefined ? 0 : usage.cacheWrite + usage.cacheWrite1h,
  cache_read_input_tokens: usage?.cacheRead ?? 0,
  output_tokens: usage?.output ?? 0,
  output_tokens_details: usage?.reasoning === undefined ? null : { thinking_tokens: usage.reasoning },
  server_tool_use: null,
});

// What is odd in the figures is noted where they are charged.
const count = (value: unknown): number | undefined => readCount(value, "", []);
