// Where Anthropic holds the model to a schema, it takes a part of JSON schema only and demands that every object is
// closed. What it would refuse is told in the description instead, where the model reads it, as its own client does.

import { isJsonObject, objectOrEmpty, type JsonObject } from "../../../platform/json.ts";
import { isWrittenObject } from "../exact-json.ts";

export function strictSchema(schema: JsonObject): JsonObject {
  const kept: Record<string, unknown> = {};
  const told: string[] = [];
  const refers = schema["$ref"] !== undefined;
  for (const [name, value] of Object.entries(schema)) {
    // Beside a reference nothing may stand but what it refers to.
    if (refers && !besideReference.has(name)) continue;
    const [as, taken] = memberOf(name, value, schema);
    if (taken !== undefined) kept[as] = taken;
    else if (!saysNothing(name, value)) told.push(`${name}: ${JSON.stringify(value)}`);
  }
  if (isObjectSchema(schema)) {
    kept["type"] ??= "object";
    kept["properties"] ??= {};
    kept["additionalProperties"] = false;
  }
  if (told.length > 0) {
    const { description } = schema;
    const before = typeof description === "string" && description !== "" ? `${description}\n\n` : "";
    kept["description"] = `${before}{${told.join(", ")}}`;
  }
  return kept;
}

/** Whether some object in it names no members and yet may have some: closed, as Anthropic demands, it must be empty. */
export function hasMap(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.some(hasMap);
  if (!isJsonObject(schema)) return false;
  const { properties, $defs, definitions } = schema;
  if (isOpen(schema) && Object.keys(objectOrEmpty(properties)).length === 0) return true;
  const byName = [properties, $defs, definitions]
    .filter(isJsonObject)
    .flatMap((schemas): unknown[] => Object.values(schemas));
  return hasMap([...byName, schema["items"], schema["anyOf"], schema["allOf"], schema["oneOf"]]);
}

/** It says that it may have other members, or leaves open which it has. */
function isOpen(schema: JsonObject): boolean {
  const { properties, additionalProperties, patternProperties } = schema;
  if (isJsonObject(additionalProperties) || isJsonObject(patternProperties)) return true;
  if (!isObjectSchema(schema)) return false;
  return additionalProperties === true || (additionalProperties !== false && properties === undefined);
}

/** What becomes of a member: its name and value, which is undefined where Anthropic would refuse it. */
function memberOf(name: string, value: unknown, schema: JsonObject): readonly [name: string, value: unknown] {
  switch (name) {
    case "properties":
    case "$defs":
    case "definitions":
      return [name, isWrittenObject(value) ? eachOf(value) : undefined];
    case "items":
      return [name, isWrittenObject(value) ? strictSchema(value) : undefined];
    case "anyOf":
    case "allOf":
      return [name, variantsOf(value)];
    case "oneOf":
      // Only one list of variants can stand in its place.
      return ["anyOf", schema["anyOf"] === undefined ? variantsOf(value) : undefined];
    case "format":
      return [name, formats.has(value) ? value : undefined];
    case "minItems":
      return [name, value === 0 || value === 1 ? value : undefined];
    default:
      return [name, plainMembers.has(name) ? value : undefined];
  }
}

const plainMembers: ReadonlySet<string> = new Set([
  "type",
  "enum",
  "const",
  "required",
  "description",
  "title",
  "$ref",
]);

const besideReference: ReadonlySet<string> = new Set(["$ref", "$defs", "definitions"]);

const formats: ReadonlySet<unknown> = new Set([
  "date-time",
  "time",
  "date",
  "duration",
  "email",
  "hostname",
  "uri",
  "ipv4",
  "ipv6",
  "uuid",
]);

/** Nothing is lost with these: every object is closed, and the version of the schema's language is no hint. */
const saysNothing = (name: string, value: unknown): boolean =>
  name === "$schema" || (name === "additionalProperties" && typeof value === "boolean");

const eachOf = (schemas: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, inside(schema)]));

const variantsOf = (value: unknown): unknown => (Array.isArray(value) ? value.map(inside) : undefined);

const inside = (value: unknown): unknown => (isWrittenObject(value) ? strictSchema(value) : value);

function isObjectSchema({ type, properties, $ref }: JsonObject): boolean {
  if ($ref !== undefined) return false;
  if (type === undefined) return properties !== undefined;
  return type === "object" || (Array.isArray(type) && type.includes("object"));
}
