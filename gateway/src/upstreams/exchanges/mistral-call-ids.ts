// Mistral takes no ids of calls but such as it gives itself: nine letters or digits. In a conversation that another vendor's
// model began, a call and its result get one that is made of theirs on their way to Mistral.

import type { CallInput } from "../../operation/call-input.ts";
import { isJsonObject, type JsonObject } from "../../platform/json.ts";
import { withoutMarked, type ForeignRule } from "./without-marked.ts";

/** A caller's own body; the same call where every id is taken, which a look at the parsed body tells. */
export const withMistralCallIds = (input: CallInput): CallInput =>
  objectsIn(input.body, "messages").some(hasOddId) ? withoutMarked(input, oddIds) : input;

/** A body that we wrote. */
export const toldToMistral = (body: JsonObject): JsonObject => ({
  ...body,
  messages: objectsIn(body, "messages").map((message) => ({
    ...withOwnId(message),
    ...("tool_calls" in message && { tool_calls: objectsIn(message, "tool_calls").map(withOwnId) }),
  })),
});

const oddIds: ForeignRule = {
  words: ['"tool_call_id"', '"function"'],
  places: { messages: { tool_calls: {} } },
  judge: (object) => (isOdd(object) ? [memberOf(object)] : []),
  instead: (object, member) => ownIdFor(String(object[member])),
};

const hasOddId = (message: JsonObject): boolean =>
  isOdd(message) || objectsIn(message, "tool_calls").some(isOdd);

const withOwnId = (object: JsonObject): JsonObject =>
  isOdd(object) ? { ...object, [memberOf(object)]: ownIdFor(String(object[memberOf(object)])) } : object;

/** A result names the call that it answers; a call has its function beside its id. */
const memberOf = ({ role }: JsonObject): "tool_call_id" | "id" => (role === "tool" ? "tool_call_id" : "id");

function isOdd(object: JsonObject): boolean {
  if (object["role"] !== "tool" && !isJsonObject(object["function"])) return false;
  const id = object[memberOf(object)];
  return typeof id === "string" && !isOwnId(id);
}

const isOwnId = (id: string): boolean => /^[a-zA-Z0-9]{9}$/.test(id);

/** One id always becomes the same. */
const ownIdFor = (id: string): string =>
  new Bun.CryptoHasher("sha256")
    .update(id)
    .digest("base64")
    .replaceAll(/[^a-zA-Z0-9]/g, "")
    .slice(0, 9);

function objectsIn(object: unknown, name: string): readonly JsonObject[] {
  const list = isJsonObject(object) ? object[name] : undefined;
  return Array.isArray(list) ? list.filter(isJsonObject) : [];
}
