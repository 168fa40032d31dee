// OpenAI wants the answers to a turn's calls right behind it, message by message, and no others there.

import { objectsOf, stringOf } from "./json-read.ts";
import type { Problem } from "./openai-refusal.ts";
import type { JsonObject } from "./vendor-checks.ts";

export function checkToolOrder(messages: readonly JsonObject[]): Problem | undefined {
  let called: readonly string[] = [];
  let open: readonly string[] = [];
  for (const { role, tool_call_id: answers, tool_calls: calls } of messages) {
    if (role === "tool") {
      if (!called.includes(stringOf(answers))) return uncalled;
      open = open.filter((id) => id !== answers);
      continue;
    }
    if (open.length > 0) break;
    called = objectsOf(calls).map(({ id }) => stringOf(id));
    open = called;
  }
  return open.length === 0 ? undefined : unanswered(open);
}

const uncalled: Problem = {
  message:
    "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.",
  param: "messages",
};

const unanswered = (ids: readonly string[]): Problem => ({
  message:
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each " +
    `'tool_call_id'. The following tool_call_ids did not have response messages: ${ids.join(", ")}`,
  param: "messages",
});
