import type { JsonObject } from "../platform/json.ts";

/**
 * A schema that is marked `nullable`, written so that null is allowed by the letter of OpenAPI 3.0.3. There the mark adds
 * null to the `type` beside it and does nothing else: a list of values has to name null too, and what has no type of its
 * own, such as a reference, becomes one of two alternatives.
 */
export function allowNull(marked: JsonObject): JsonObject {
  const { enum: values } = marked;
  if ("type" in marked) {
    return Array.isArray(values) && !values.includes(null)
      ? { ...marked, enum: [...(values as unknown[]), null] }
      : marked;
  }
  const { nullable: _, description, ...rule } = marked;
  return {
    ...(description === undefined ? {} : { description }),
    anyOf: [soleReference(rule) ?? rule, nothingElse],
  };
}

/** References used to stand alone in an `allOf` only so that something could be written beside them. */
function soleReference({ allOf, ...beside }: JsonObject): unknown {
  return Array.isArray(allOf) && allOf.length === 1 && Object.keys(beside).length === 0
    ? (allOf as unknown[])[0]
    : undefined;
}

/** 3.0 has no type for null, so this one borrows another. */
const nothingElse: JsonObject = { type: "string", nullable: true, enum: [null] };
