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

/** Google has no reason of its own for tool calls: it stops, and there they are. */
export function readFinishReason(reason: unknown, hasCalls: boolean): StopReason {
  if (reason === "MAX_TOKENS") return "length";
  if (typeof reason === "string" && filters.has(reason)) return "filtered";
  return hasCalls ? "tool_calls" : "end";
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
export const writeFinishReason = (stop: StopReason, malformedCall: boolean): string =>
  malformedCall && stop === "tool_calls" ? "MALFORMED_FUNCTION_CALL" : written[stop];
