// Google's own schemas are a subset of OpenAPI 3.0 with the types in capitals; everybody else speaks JSON schema.

import type { JsonObject } from "../../../platform/json.ts";
import { isWrittenObject } from "../exact-json.ts";
import { camelCase } from "./members.ts";

/** Google's format writes these 64-bit counts as strings of digits. */
const counts = new Set(["minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"]);

/** How the schema is used: where it `isKept`, Google writes no members but those it lists, and so it is closed to others too. */
interface Use {
  readonly isKept: boolean;
}

export function toJsonSchema(schema: JsonObject, use: Use): JsonObject {
  const members = Object.entries(schema)
    .map(([name, value]) => [camelCase(name), value] as const)
    .filter(([name, value]) => value !== null && name !== "nullable" && name !== "propertyOrdering")
    .map(([name, value]) => [name, memberToJsonSchema(name, value, use)] as const)
    .filter(([, value]) => value !== undefined);
  const open = Object.fromEntries(members);
  const plain = use.isKept && listsMembers(open) ? { ...open, additionalProperties: false } : open;
  return schema["nullable"] === true ? orNull(plain) : plain;
}

const listsMembers = ({ properties, additionalProperties }: JsonObject): boolean =>
  isWrittenObject(properties) && Object.keys(properties).length > 0 && additionalProperties === undefined;

function memberToJsonSchema(name: string, value: unknown, use: Use): unknown {
  switch (name) {
    case "type":
      return Array.isArray(value) ? value.map(lowerType) : lowerType(value);
    case "properties":
    case "$defs":
    case "defs":
      return isWrittenObject(value)
        ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, inside(inner, use)]))
        : value;
    case "anyOf":
    case "oneOf":
    case "prefixItems":
      return Array.isArray(value) ? value.map((inner) => inside(inner, use)) : value;
    case "allOf":
      // Each of these may list some of the members alone.
      return Array.isArray(value) ? value.map((inner) => inside(inner, { isKept: false })) : value;
    case "items":
    case "additionalProperties":
      return inside(value, use);
    default:
      return counts.has(name) && typeof value === "string" && /^\d+$/.test(value) ? Number(value) : value;
  }
}

const inside = (value: unknown, use: Use): unknown =>
  isWrittenObject(value) ? toJsonSchema(value, use) : value;

function lowerType(type: unknown): unknown {
  if (type === "TYPE_UNSPECIFIED") return undefined;
  return typeof type === "string" ? type.toLowerCase() : type;
}

function orNull(schema: JsonObject): JsonObject {
  const { type, anyOf, enum: values } = schema;
  const withNull = isList(values) && !values.includes(null) ? { enum: [...values, null] } : {};
  if (typeof type === "string") return { ...schema, type: [type, "null"], ...withNull };
  if (isList(anyOf)) return { ...schema, anyOf: [...anyOf, { type: "null" }] };
  return schema;
}

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);
