// Mistral's models take less than OpenAI's: no ids of calls but such as they give themselves, nine letters or digits, and no
// word of the user's right behind the result of a tool. Who else serves them often asks for the same.

import { isJsonObject, objectsIn, type JsonObject } from "../../../platform/json.ts";

export const isMistrals = (model: string): boolean =>
  /(mi[sx]|minis|magis|codes|devs|pix|vox)tral/i.test(model);

/** Messages that we wrote, as these models take them. */
export const toldToMistral = (messages: readonly JsonObject[]): readonly JsonObject[] =>
  messages.flatMap((message, at) => {
    const followsResult = message["role"] === "user" && messages[at - 1]?.["role"] === "tool";
    return [...(followsResult ? [resultsRead] : []), withOwnIds(message)];
  });

/** The user speaks again once the model has said something. */
const resultsRead: JsonObject = { role: "assistant", content: "The tools have answered." };

const withOwnIds = (message: JsonObject): JsonObject => ({
  ...withOwnId(message),
  ...("tool_calls" in message && { tool_calls: callsOf(message).map(withOwnId) }),
});

const withOwnId = (object: JsonObject): JsonObject =>
  hasOddId(object) ? { ...object, [idMemberOf(object)]: ownIdOf(object) } : object;

export const callsOf = ({ tool_calls: calls }: JsonObject): readonly JsonObject[] => objectsIn(calls);

/** Whether a call, or the result of one, has an id that these models refuse. */
export function hasOddId(object: JsonObject): boolean {
  if (object["role"] !== "tool" && !isJsonObject(object["function"])) return false;
  const id = object[idMemberOf(object)];
  return typeof id === "string" && !/^[a-zA-Z0-9]{9}$/.test(id);
}

/** A result names the call that it answers. */
export const idMemberOf = ({ role }: JsonObject): string => (role === "tool" ? "tool_call_id" : "id");

/** The id that they take in its place: one id always becomes the same. */
export const ownIdOf = (object: JsonObject): string =>
  new Bun.CryptoHasher("sha256")
    .update(String(object[idMemberOf(object)]))
    .digest("base64")
    .replaceAll(/[^a-zA-Z0-9]/g, "")
    .slice(0, 9);
