// The ids of calls in the messages of a chat completion, of which some vendors refuse what others give.

import { isJsonObject, objectsIn, type JsonObject } from "../../../platform/json.ts";

/** What a vendor takes, and what it gets in place of anything else. One id always becomes the same. */
export interface TakenIds {
  readonly takes: (id: string) => boolean;
  readonly instead: (id: string) => string;
}

/** OpenAI, and Azure in its place, have refused longer ones than these. */
export const shortIds: TakenIds = {
  takes: (id) => id.length <= 40,
  instead: (id) => `call_${new Bun.CryptoHasher("sha256").update(id).digest("hex").slice(0, 32)}`,
};

/** A message that we wrote. */
export const withTakenIds = (message: JsonObject, taken: TakenIds): JsonObject => ({
  ...withTakenId(message, taken),
  ...("tool_calls" in message && { tool_calls: callsOf(message).map((call) => withTakenId(call, taken)) }),
});

function withTakenId(object: JsonObject, taken: TakenIds): JsonObject {
  const id = oddIdIn(object, taken);
  return id === undefined ? object : { ...object, [idMemberOf(object)]: taken.instead(id) };
}

export const holdsOddId = (message: JsonObject, taken: TakenIds): boolean =>
  oddIdIn(message, taken) !== undefined ||
  callsOf(message).some((call) => oddIdIn(call, taken) !== undefined);

/** The id of a call, or of the result of one, where it is not taken. */
export function oddIdIn(object: JsonObject, { takes }: TakenIds): string | undefined {
  if (object["role"] !== "tool" && !isJsonObject(object["function"])) return undefined;
  const id = object[idMemberOf(object)];
  return typeof id === "string" && !takes(id) ? id : undefined;
}

/** A result names the call that it answers. */
export const idMemberOf = ({ role }: JsonObject): string => (role === "tool" ? "tool_call_id" : "id");

const callsOf = ({ tool_calls: calls }: JsonObject): readonly JsonObject[] => objectsIn(calls);
