// Where OpenAI is to hold the model to a schema strictly, it refuses schemas that other vendors take.

import { isJsonObject, type JsonObject } from "../../../platform/json.ts";

/**
 * `strict` as it can be written beside a schema. Where OpenAI would refuse the schema, it is left out: the model still
 * reads the schema, and the answer comes without the promise rather than not at all.
 */
export const strictFor = (schema: JsonObject, strict: boolean | undefined): boolean | undefined =>
  strict === true && !(schema["type"] === "object" && isStrict(schema)) ? undefined : strict;

/** Every object in it is closed and requires all that it lists, and nothing is said that OpenAI does not take. */
function isStrict(schema: JsonObject): boolean {
  const words = Object.keys(schema).filter((word) => schema[word] !== undefined);
  // A reference stands alone; everything else says what it is.
  if (schema["$ref"] !== undefined) return words.length === 1;
  if (schema["type"] === undefined && schema["anyOf"] === undefined) return false;
  if (!words.every((word) => takenWords.has(word))) return false;
  if (schema["format"] !== undefined && !takenFormats.has(schema["format"])) return false;
  if (describesObject(schema) && !isClosed(schema)) return false;
  return innerSchemas(schema).every((inner) => isJsonObject(inner) && isStrict(inner));
}

/** Words that it takes, and not those it refuses: it refuses what it does not know, and of that there is no list. */
const takenWords: ReadonlySet<string> = new Set([
  "$schema",
  "title",
  "description",
  "type",
  "enum",
  "const",
  "properties",
  "required",
  "additionalProperties",
  "items",
  "minItems",
  "maxItems",
  "anyOf",
  "$defs",
  "definitions",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "pattern",
  "format",
]);

const takenFormats: ReadonlySet<unknown> = new Set([
  "date-time",
  "time",
  "date",
  "duration",
  "email",
  "hostname",
  "ipv4",
  "ipv6",
  "uuid",
]);

const describesObject = ({ type, properties }: JsonObject): boolean =>
  properties !== undefined || type === "object" || (Array.isArray(type) && type.includes("object"));

function isClosed({ properties = {}, required = [], additionalProperties }: JsonObject): boolean {
  if (additionalProperties !== false || !isJsonObject(properties) || !Array.isArray(required)) return false;
  const names: ReadonlySet<unknown> = new Set(required);
  return Object.keys(properties).every((name) => names.has(name));
}

const innerSchemas = ({ properties, $defs, definitions, items, anyOf }: JsonObject): readonly unknown[] => [
  ...[properties, $defs, definitions].flatMap((schemas) =>
    isJsonObject(schemas) ? Object.values(schemas) : [],
  ),
  ...(items === undefined ? [] : [items]),
  ...(isList(anyOf) ? anyOf : []),
];

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);
