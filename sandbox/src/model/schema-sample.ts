// A value that fits a JSON Schema, for tool arguments and structured answers.

import { createSeeded, type Seeded } from "../seeded.ts";
import { isObject, type JsonObject } from "../vendor.ts";

// Schemas may refer to themselves, and ask for a million items.
const depthMax = 8;
const valuesMax = 500;

export const sampleOf = (schema: JsonObject, seed: string): unknown =>
  sample(
    { type: "object", ...schema },
    { root: schema, seeded: createSeeded(seed), depth: 0, name: "value", budget: { values: valuesMax } },
  );

interface Place {
  readonly root: JsonObject;
  readonly seeded: Seeded;
  readonly depth: number;
  /** Shared by the whole sample and used up as it grows. */
  readonly budget: { values: number };
  /** The member being filled in: `city` becomes "city 42". */
  readonly name: string;
}

function sample(given: unknown, place: Place): unknown {
  const schema = follow(given, place.root);
  place.budget.values -= 1;
  if (!isObject(schema) || place.depth > depthMax || place.budget.values < 0) return null;
  if ("const" in schema) return schema["const"];
  if ("default" in schema) return schema["default"];
  const choices = schema["enum"];
  if (Array.isArray(choices) && choices.length > 0)
    return choices[place.seeded.integer({ from: 0, to: choices.length - 1 })];
  const alternatives = schema["anyOf"] ?? schema["oneOf"];
  if (Array.isArray(alternatives)) return sample(alternatives[0], place);

  const type: unknown = Array.isArray(schema["type"]) ? schema["type"][0] : schema["type"];
  switch (type) {
    case "object":
      return sampleObject(schema, place);
    case "array":
      return Array.from({ length: Math.min(valuesMax, Math.max(1, numberAt(schema, "minItems", 1))) }, () =>
        sample(schema["items"], { ...place, depth: place.depth + 1 }),
      );
    case "integer":
    case "number": {
      const from = numberAt(schema, "minimum", 1);
      return place.seeded.integer({
        from: Math.ceil(from),
        to: Math.floor(Math.max(from, numberAt(schema, "maximum", from + 99))),
      });
    }
    case "boolean":
      return place.seeded.fraction() < 0.5;
    case "null":
      return null;
    default:
      return `${place.name} ${place.seeded.integer({ from: 1, to: 99 })}`;
  }
}

/** All required members; all members when the schema requires none. */
function sampleObject(schema: JsonObject, place: Place): JsonObject {
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  const required = Array.isArray(schema["required"]) ? schema["required"].map(String) : [];
  const names = required.length > 0 ? required : Object.keys(properties);
  return Object.fromEntries(
    names.map((name) => [name, sample(properties[name], { ...place, name, depth: place.depth + 1 })]),
  );
}

/** Follows a reference within the schema, `#/$defs/City`, one step; no other. */
function follow(schema: unknown, root: JsonObject): unknown {
  const reference = isObject(schema) ? schema["$ref"] : undefined;
  if (typeof reference !== "string") return schema;
  return reference
    .split("/")
    .slice(1)
    .reduce<unknown>((at, step) => (isObject(at) ? at[step] : undefined), root);
}

function numberAt(schema: JsonObject, member: string, otherwise: number): number {
  const value = schema[member];
  return typeof value === "number" ? value : otherwise;
}
