import { isJsonObject, objectsIn, type JsonObject } from "../../platform/json.ts";

/** The names in a list of tools; in Google's dialect one object is a list of one. */
export const namesIn = (tools: unknown): readonly string[] =>
  listed(tools).flatMap(({ name }) => (typeof name === "string" ? [name] : []));

export const listed = (value: unknown): readonly JsonObject[] =>
  isJsonObject(value) ? [value] : objectsIn(value);
