// What the template that Qwen's models bring along refuses, in whichever server of one's own it makes prompts.

import { objectsOf, stringOf } from "./json-read.ts";
import type { Problem } from "./openai-refusal.ts";
import type { JsonObject } from "./vendor-checks.ts";

export function checkQwenTemplate({ model, messages }: JsonObject): Problem | undefined {
  if (!stringOf(model).startsWith("qwen")) return undefined;
  const isLate = objectsOf(messages)
    .slice(1)
    .some(({ role }) => role === "system");
  return isLate ? { message: "System message must be at the beginning." } : undefined;
}
