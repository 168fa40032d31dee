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
    case "content_filter":
      return "filtered";
    case "tool_calls":
    case "function_call":
      return "tool_calls";
    default:
      if (said.refused) return "refusal";
      return said.called ? "tool_calls" : "end";
  }
}

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
