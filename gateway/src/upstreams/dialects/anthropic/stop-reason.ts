import type { StopReason } from "../chat.ts";

const meanings: ReadonlyMap<unknown, StopReason> = new Map([
  ["end_turn", "end"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["stop_sequence", "stop_sequence"],
  ["tool_use", "tool_calls"],
  ["refusal", "refusal"],
  // Only turns with Anthropic's own tools are paused, and those are not translated.
  ["pause_turn", "end"],
]);

export const readStopReason = (reason: unknown): StopReason => meanings.get(reason) ?? "end";

const words: Readonly<Record<StopReason, string>> = {
  end: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  stop_sequence: "stop_sequence",
  filtered: "refusal",
  refusal: "refusal",
};

export const writeStopReason = (reason: StopReason): string => words[reason];
