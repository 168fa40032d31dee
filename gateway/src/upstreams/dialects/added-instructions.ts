// Where instructions that were added to a conversation may stand before each vendor.

import type { AddedInstructions, ChatMessage, ChatRequest, TextPart } from "./chat.ts";

type Messages = ChatRequest["messages"];

export const isSaid = (message: ChatMessage | AddedInstructions): message is ChatMessage =>
  message.role !== "system";

/** The conversation for who knows instructions at its beginning alone. */
export function instructionsFirst({ system, messages }: Pick<ChatRequest, "system" | "messages">): {
  readonly system: readonly TextPart[];
  readonly messages: readonly ChatMessage[];
} {
  const added = messages.flatMap((message) => (isSaid(message) ? [] : message.parts));
  return { system: [...system, ...added], messages: messages.filter(isSaid) };
}

/** The same messages, with those instructions that stand between calls and their results behind the results. */
export function instructionsBehindResults(messages: Messages): Messages {
  const isWithinCalls = gapsWithinCalls(messages);
  const placed: (ChatMessage | AddedInstructions)[] = [];
  const waiting: AddedInstructions[] = [];
  for (const [at, message] of messages.entries()) {
    if (isSaid(message)) placed.push(message);
    else waiting.push(message);
    if (!isWithinCalls[at]) placed.push(...waiting.splice(0));
  }
  return [...placed, ...waiting];
}

/** For each message whether, behind it, results are still to come of calls that stand before them. */
function gapsWithinCalls(messages: Messages): readonly boolean[] {
  const gaps: boolean[] = [];
  const awaited = new Set<string>();
  let next: ChatMessage["role"] | undefined;
  for (const message of messages.toReversed()) {
    // A call is answered in the user's very next turn, so nothing before that awaits what comes later.
    if (message.role === "user" && next === "assistant") awaited.clear();
    gaps.push(awaited.size > 0);
    if (!isSaid(message)) continue;
    for (const part of message.parts) {
      if (part.kind === "tool_result") awaited.add(part.callId);
      if (part.kind === "tool_call") awaited.delete(part.id);
    }
    next = message.role;
  }
  return gaps.toReversed();
}
