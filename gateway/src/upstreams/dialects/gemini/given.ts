import type { JsonObject } from "../../../platform/json.ts";

/** The members that have a value; what is undefined is not written. */
export const given = (members: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));

/** The same, but nothing at all rather than an empty object. */
export function givenOrNone(members: JsonObject): JsonObject | undefined {
  const written = given(members);
  return Object.keys(written).length === 0 ? undefined : written;
}
