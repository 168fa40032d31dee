import type { StopReason } from "../chat.ts";

const filters = new Set([
  "SAFETY",
  "RECITATION",
  "LANGUAGE",
  "BLOCKLIST",
  "PROHIBITED_CONTENT",
  "SPII",
  "MODEL_ARMOR",
  "IMAGE_SAFETY",
  "IMAGE_PROHIBITED_CONTENT",
  "IMAGE_RECITATION",
]);

/** Why an answer came to nothing, or to less than was meant. */
const failures = new Set([
  "MALFORMED_FUNCTION_CALL",
  "MALFORMED_RESPONSE",
  "UNEXPECTED_TOOL_CALL",
  "TOO_MANY_TOOL_CALLS",
  "MISSING_THOUGHT_SIGNATURE",
  "NO_IMAGE",
  "IMAGE_OTHER",
]);

const wholes = new Set(["STOP", "FINISH_REASON_UNSPECIFIED"]);

/**
 * Google has no reason of its own for tool calls: it stops, and there they are. For an answer that failed the other
 * dialects have no word; as a filtered one it does not look complete, and what Google bills for it is still charged.
 */
export function readStopReason(
  reason: string | undefined,
  { answers, calls }: { readonly answers: boolean; readonly calls: boolean },
): StopReason {
  if (reason === "MAX_TOKENS" || reason === "CONTINUATION") return "length";
  if (reason !== undefined) {
    if (filters.has(reason) || failures.has(reason)) return "filtered";
    if (!answers && !wholes.has(reason)) return "filtered";
  }
  return calls ? "tool_calls" : "end";
}

const written = {
  end: "STOP",
  tool_calls: "STOP",
  stop_sequence: "STOP",
  length: "MAX_TOKENS",
  filtered: "SAFETY",
  refusal: "SAFETY",
} as const satisfies Record<StopReason, string>;

/** A call whose arguments were no JSON is not written; where calls were the point, the reason says so. */
export const writeStopReason = (stop: StopReason, malformedCall: boolean): string =>
  malformedCall && stop === "tool_calls" ? "MALFORMED_FUNCTION_CALL" : written[stop];
