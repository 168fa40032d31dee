// A response around its items, as far as it repeats what was asked and says how it ended.

import { objectOrEmpty, type JsonObject } from "../../../platform/json.ts";
import type { ChatUsage, StopReason } from "../chat.ts";
import type { AskedAgain, WriteContext } from "../dialect.ts";
import { asksForSummary } from "./read-request.ts";
import { declaredTools } from "./tool-names.ts";
import { writeUsage } from "./write-usage.ts";

/** Clients find here what they asked for, or what they left to the vendor to choose. */
export const saidAgain = (body: JsonObject): AskedAgain => ({
  members: shortMembers(body),
  tools: declaredTools(body),
  showsSummaries: asksForSummary(body),
});

/**
 * Together. All of it comes three times with every stream and is kept for as long as that lasts, and some of it costs nothing,
 * because no vendor is told of it. What is longer counts as left to the vendor to choose.
 */
const charactersSaidAgainMax = 256 * 1024;

function shortMembers(body: JsonObject): JsonObject {
  let room = charactersSaidAgainMax;
  const members = Object.entries(unasked).map(([name, usual]) => {
    const asked = body[name] ?? usual;
    const length = JSON.stringify(asked).length;
    if (length > room) return [name, usual];
    room -= length;
    return [name, asked];
  });
  return Object.fromEntries(members) as JsonObject;
}

const unasked: JsonObject = {
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: {},
  parallel_tool_calls: true,
  prompt_cache_key: null,
  reasoning: { effort: null, summary: null },
  safety_identifier: null,
  service_tier: "default",
  temperature: null,
  text: { format: { type: "text" } },
  tool_choice: "auto",
  tools: [],
  top_logprobs: 0,
  top_p: null,
  truncation: "disabled",
  user: null,
};

export interface ResponseState {
  readonly status: "in_progress" | "completed" | "incomplete" | "failed";
  readonly output: readonly JsonObject[];
  readonly usage?: ChatUsage | undefined;
  readonly incomplete?: string | undefined;
  readonly error?: JsonObject;
}

/** Of a translated answer nothing is stored. */
export function writeResponse(
  { id, createdSeconds, model, askedAgain }: WriteContext,
  { status, output, usage, incomplete, error }: ResponseState,
): JsonObject {
  return {
    id: `resp_${id}`,
    object: "response",
    created_at: createdSeconds,
    status,
    background: false,
    error: error ?? null,
    incomplete_details: incomplete === undefined ? null : { reason: incomplete },
    model,
    output,
    previous_response_id: null,
    store: false,
    usage: usage === undefined ? null : writeUsage(usage),
    ...objectOrEmpty(askedAgain?.members),
  };
}

/** Why a response is not complete; undefined where it is. */
export function incompleteBecause(stop: StopReason): string | undefined {
  switch (stop) {
    case "length":
      return "max_output_tokens";
    case "filtered":
    case "refusal":
      return "content_filter";
    case "end":
    case "tool_calls":
    case "stop_sequence":
      return undefined;
  }
}
