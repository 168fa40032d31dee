// Mistral refuses the ids that other vendors give to calls, and OpenAI those that are long. In a conversation that another's model
// began, a call and its result get one that is taken, and every other byte stays as the caller wrote it.

import type { CallInput } from "../../operation/call-input.ts";
import { objectOrEmpty, objectsIn, type JsonObject } from "../../platform/json.ts";
import { holdsOddId, idMemberOf, oddIdIn, type TakenIds } from "../dialects/openai/call-ids.ts";
import { withoutMarked, type ForeignRule } from "./without-marked.ts";

/** The same call where every id is taken, which a look at the parsed body tells. */
export const withTakenCallIds = (input: CallInput, taken: TakenIds): CallInput =>
  messagesIn(input.body).some((message) => holdsOddId(message, taken))
    ? withoutMarked(input, oddIds(taken))
    : input;

const oddIds = (taken: TakenIds): ForeignRule => ({
  words: ['"tool_call_id"', '"function"'],
  places: { messages: { tool_calls: {} } },
  judge: (object) => (oddIdIn(object, taken) === undefined ? [] : [idMemberOf(object)]),
  instead: (object, member) => taken.instead(String(object[member])),
});

function messagesIn(body: unknown): readonly JsonObject[] {
  const messages = objectOrEmpty(body)["messages"];
  return objectsIn(messages);
}
