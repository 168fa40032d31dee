// Google's own schemas are a subset of OpenAPI 3.0 with the types in capitals; everybody else speaks JSON schema.

import { isJsonObject } from "../../../platform/json.ts";
import type { JsonObject } from "../../../platform/json.ts";
import { camelCase } from "./members.ts";

/** Google's format writes these 64-bit counts as strings. */
const counts = new Set(["minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"]);

export function toJsonSchema(schema: JsonObject): JsonObject {
  const members = Object.entries(schema)
    .map(([name, value]) => [camelCase(name), value] as const)
    .filter(([name, value]) => value !== null && name !== "nullable" && name !== "propertyOrdering")
    .map(([name, value]) => [name, memberToJsonSchema(name, value)] as const)
    .filter(([, value]) => value !== undefined);
  const plain = Object.fromEntries(members);
  return schema["nullable"] === true ? orNull(plain) : plain;
}

function memberToJsonSchema(name: string, value: unknown): unknown {
  switch (name) {
    case "type":
      return Array.isArray(value) ? value.map(lowerType) : lowerType(value);
    case "properties":
    case "$defs":
    case "defs":
      return isJsonObject(value)
        ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, inside(inner)]))
        : value;
    case "anyOf":
    case "oneOf":
    case "allOf":
    case "prefixItems":
      return Array.isArray(value) ? value.map(inside) : value;
    case "items":
    case "additionalProperties":
      return inside(value);
    default:
      return counts.has(name) && typeof value === "string" ? Number(value) : value;
  }
}

const inside = (value: unknown): unknown => (isJsonObject(value) ? toJsonSchema(value) : value);

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
