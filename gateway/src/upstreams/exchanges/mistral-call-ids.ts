// Mistral refuses the ids that other vendors give to calls. In a conversation that one of their models began, a call and its
// result get one that it takes, and every other byte stays as the caller wrote it.

import type { CallInput } from "../../operation/call-input.ts";
import { objectOrEmpty, objectsIn, type JsonObject } from "../../platform/json.ts";
import { callsOf, hasOddId, idMemberOf, ownIdOf } from "../dialects/openai/told-to-mistral.ts";
import { withoutMarked, type ForeignRule } from "./without-marked.ts";

/** The same call where every id is taken, which a look at the parsed body tells. */
export const withMistralCallIds = (input: CallInput): CallInput =>
  messagesIn(input.body).some(holdsOddId) ? withoutMarked(input, oddIds) : input;

const oddIds: ForeignRule = {
  words: ['"tool_call_id"', '"function"'],
  places: { messages: { tool_calls: {} } },
  judge: (object) => (hasOddId(object) ? [idMemberOf(object)] : []),
  instead: ownIdOf,
};

const holdsOddId = (message: JsonObject): boolean => hasOddId(message) || callsOf(message).some(hasOddId);

function messagesIn(body: unknown): readonly JsonObject[] {
  const messages = objectOrEmpty(body)["messages"];
  return objectsIn(messages);
}
