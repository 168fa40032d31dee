import type { StopReason } from "../chat.ts";

/**
 * A forced call of a tool ends with "stop" at OpenAI itself; others need to hear that a tool is called. A refusal
 * is told by what is said and not by how it ends.
 */
export function readStopReason(
  finish: unknown,
  said: { readonly called: boolean; readonly refused: boolean },
): StopReason {
  switch (finish) {
    case "length":
      return "length";
    // For an answer that its vendor broke off the other dialects have no word; as a filtered one it does not look complete,
    // and what is billed for it is still charged.
    case "content_filter":
    case "sensitive":
    case "insufficient_system_resource":
    case "network_error":
    case "abort":
      return "filtered";
    case "tool_calls":
    case "function_call":
      return "tool_calls";
    default:
      if (said.refused) return "refusal";
      return said.called ? "tool_calls" : "end";
  }
}

/** A word that is neither OpenAI's nor known from others who have their own for the same: treated as the end, but reported. */
export const oddFinish = (finish: unknown): string | undefined =>
  typeof finish === "string" && !known.has(finish) ? finish : undefined;

const known: ReadonlySet<string> = new Set([
  "",
  "stop",
  "length",
  "content_filter",
  "tool_calls",
  "function_call",
  "sensitive",
  "insufficient_system_resource",
  "network_error",
  "abort",
  "error",
  "eos",
  "eos_token",
  "end_turn",
  "stop_sequence",
]);

/** Another vendor's refusal cuts an answer that may have begun, which is what content_filter means here. */
export function writeStopReason(stop: StopReason): "stop" | "length" | "tool_calls" | "content_filter" {
  switch (stop) {
    case "end":
    case "stop_sequence":
      return "stop";
    case "filtered":
    case "refusal":
      return "content_filter";
    case "length":
    case "tool_calls":
      return stop;
  }
}
