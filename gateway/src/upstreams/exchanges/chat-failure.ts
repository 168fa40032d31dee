import type { HiddenFailure } from "../../operation/exchanged.ts";
import { isJsonObject, type JsonObject } from "../../platform/json.ts";
import { choiceError, hasWritten } from "../dialects/openai/answer-members.ts";
import { saysError, statusSaidIn } from "../answers/hidden-error.ts";
import { holdsOutput } from "./responses-output.ts";

/** Every answer of these dialects is an object; a page of HTML comes from a wrong address or a proxy in between. */
export function chatFailureIn(json: unknown): HiddenFailure | undefined {
  if (!isJsonObject(json)) return "malformed";
  const failure = failureIn(json);
  return failure !== undefined && isWithoutAnswer(json) ? statusSaidIn(failure) : undefined;
}

/** Some compatible vendors answer 200 whatever happens; an answer must not be made of it, empty or begun. */
export function failureIn(json: unknown): JsonObject | undefined {
  if (!isJsonObject(json)) return undefined;
  if (saysError(json) && isWithoutAnswer(json)) return json;
  const { choices } = json;
  const error = Array.isArray(choices) ? choiceError(choices[0]) : undefined;
  if (error === undefined) return undefined;
  // Official clients show the message of an error that is an object.
  return { error: typeof error === "string" ? { message: error } : error };
}

/** Whether nothing was said in it that somebody may have paid for. */
export const isWithoutAnswer = (json: unknown): boolean =>
  !isJsonObject(json) ||
  !(
    isFilled(json["content"]) ||
    isFilled(json["candidates"]) ||
    hasWritten(json["choices"]) ||
    holdsOutput(json["output"])
  );

export const isFilled = (list: unknown): boolean => Array.isArray(list) && list.length > 0;
