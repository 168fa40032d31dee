import type { JsonObject } from "../../platform/json.ts";
import { isWrittenObject, parseArguments } from "./exact-json.ts";

/**
 * A call's arguments as the object that Anthropic and Google want. A model may write text that is no JSON object; an empty
 * object would hide that from whoever runs the tool, so the text stands, whole, in the member `_raw`.
 */
export function writeToolInput(text: string): JsonObject {
  if (text.trim() === "") return {};
  try {
    const value: unknown = parseArguments(text);
    return isWrittenObject(value) ? value : { _raw: text };
  } catch {
    return { _raw: text };
  }
}

// `_raw` is not unwrapped: a tool may have a member of that name.
export const readToolInput = (input: unknown): string => JSON.stringify(input ?? {});
