import type { JsonObject } from "../../platform/json.ts";

/** The members that have a value; what is undefined is not written. */
export const withoutUndefined = (members: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
