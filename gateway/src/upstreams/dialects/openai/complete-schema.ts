// What OpenAI wants to be said in a schema, and other vendors take as understood: the same schema, as it takes it.

import type { JsonObject } from "../../../platform/json.ts";
import { isWrittenObject } from "../exact-json.ts";

/** A tool without parameters often has no list of them elsewhere. */
export function completeParameters(parameters: JsonObject): JsonObject {
  const complete = completeSchema(parameters);
  return complete["type"] === "object" && complete["properties"] === undefined
    ? { ...complete, properties: {} }
    : complete;
}

/** A list whose items nobody describes may hold anything. Tools of MCP servers often have one, at whatever depth. */
export function completeSchema(schema: JsonObject): JsonObject {
  const members = Object.entries(schema).map(([word, value]) => [word, completeMember(word, value)] as const);
  const complete = Object.fromEntries(members);
  return isList(schema) && schema["items"] === undefined ? { ...complete, items: {} } : complete;
}

function completeMember(word: string, value: unknown): unknown {
  if (byName.has(word) && isWrittenObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, inside(schema)]));
  }
  if (variants.has(word) && Array.isArray(value)) return value.map(inside);
  return alone.has(word) ? inside(value) : value;
}

/** Where schemas stand; in every other place, such as an example or a default, are the caller's own data. */
const byName: ReadonlySet<string> = new Set(["properties", "patternProperties", "$defs", "definitions"]);
const variants: ReadonlySet<string> = new Set(["anyOf", "oneOf", "allOf", "prefixItems"]);
const alone: ReadonlySet<string> = new Set(["items", "additionalProperties", "not", "if", "then", "else"]);

const inside = (value: unknown): unknown => (isWrittenObject(value) ? completeSchema(value) : value);

const isList = ({ type }: JsonObject): boolean =>
  type === "array" || (Array.isArray(type) && type.includes("array"));
