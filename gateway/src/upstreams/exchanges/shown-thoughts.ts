// What a caller of one dialect is shown of what another vendor's model thought.

import type { Dispatch } from "../../operation/forwarder.ts";
import { isJsonObject, objectOrEmpty } from "../../platform/json.ts";
import type { ChatAnswer, ChatEvent } from "../dialects/chat.ts";
import type { SpokenDialect } from "../dialects/dialect.ts";
import { createThoughtSieve } from "../dialects/unasked-thoughts.ts";

export function asShownTo(callers: SpokenDialect, answer: ChatAnswer, { input }: Dispatch): ChatAnswer {
  if (asksForThoughts(callers, input.body)) return answer;
  const mayCall = answer.parts.some(({ kind }) => kind === "tool_call");
  return { ...answer, parts: answer.parts.flatMap(createThoughtSieve({ mayCall })) };
}

/** What of a stream is shown. Whether a call follows a thought nobody knows yet, but without tools none does. */
export function eventsShownTo(
  callers: SpokenDialect,
  { input }: Dispatch,
): (event: ChatEvent) => readonly ChatEvent[] {
  if (asksForThoughts(callers, input.body)) return (event) => [event];
  const tools = objectOrEmpty(input.body)["tools"];
  // In Google's dialect one object is a list of one.
  const mayCall = isJsonObject(tools) || (Array.isArray(tools) && tools.length > 0);
  return createThoughtSieve<ChatEvent>({ mayCall });
}

const asksForThoughts = (callers: SpokenDialect, body: unknown): boolean =>
  isJsonObject(body) && callers.asksForThoughts(body);
