// What Mistral's models refuse of messages that OpenAI's take, in the words of its API.

import { objectsOf, stringOf } from "./json-read.ts";
import type { Problem } from "./openai-refusal.ts";
import type { JsonObject } from "./vendor-checks.ts";

export function checkMistralOrder({ model, messages }: JsonObject): Problem | undefined {
  if (!/^(mistral|devstral)/.test(stringOf(model))) return undefined;
  let before = "";
  for (const { role, tool_call_id: answers, tool_calls: calls } of objectsOf(messages)) {
    const ids = [...objectsOf(calls).map(({ id }) => id), ...(role === "tool" ? [answers] : [])];
    const odd = ids.map(stringOf).find((id) => !/^[a-zA-Z0-9]{9}$/.test(id));
    if (odd !== undefined) {
      return { message: `Tool call id was ${odd} but must be a-z, A-Z, 0-9, with a length of 9.` };
    }
    if (before === "tool" && role !== "tool" && role !== "assistant") {
      return { message: `Unexpected role '${stringOf(role)}' after role 'tool'` };
    }
    before = stringOf(role);
  }
  return undefined;
}
