import type { ToolChoice } from "./chat.ts";

/** Whether the model is left no choice but to call a tool. */
export const forcesCall = (choice: ToolChoice | undefined): boolean =>
  choice === "required" || typeof choice === "object";
