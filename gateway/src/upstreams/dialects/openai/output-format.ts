// The form of the answer, both ways.

import type { JsonObject } from "../../../platform/json.ts";
import type { OutputFormat } from "../chat.ts";
import { Inexpressible } from "../dialect.ts";
import { withoutUndefined } from "../without-undefined.ts";
import { completeSchema } from "./complete-schema.ts";
import { readFlag, readObject, readText, requireObject, requireText } from "./members.ts";
import { strictFor } from "./strict-schema.ts";

export function readOutput(value: unknown): OutputFormat | undefined {
  const field = "response_format.json_schema";
  return readFormat(value, "response_format", ({ json_schema: schema }) =>
    readSchema(requireObject(schema, field), field),
  );
}

/** `readSchemaIn` finds the schema of an answer that is held to one. */
export function readFormat(
  value: unknown,
  field: string,
  readSchemaIn: (format: JsonObject) => OutputFormat,
): OutputFormat | undefined {
  const format = readObject(value, field);
  if (format === undefined) return undefined;
  switch (format["type"]) {
    case "text":
      return { kind: "text" };
    case "json_object":
      return { kind: "json" };
    case "json_schema":
      return readSchemaIn(format);
    default:
      throw new Inexpressible(
        `${field}.type`,
        `${JSON.stringify(format["type"])} is not text, json_object or json_schema`,
      );
  }
}

export function readSchema(value: JsonObject, field: string): OutputFormat {
  const schema = readObject(value["schema"], `${field}.schema`) ?? {};
  // The description has no place beside the schema; a schema describes itself in the same words.
  const description = readText(value["description"], `${field}.description`);
  return {
    kind: "json_schema",
    name: requireText(value["name"], `${field}.name`),
    schema: description === undefined ? schema : { description, ...schema },
    strict: readFlag(value["strict"], `${field}.strict`),
  };
}

export const writeOutput = (output: OutputFormat): JsonObject =>
  writeFormat(output, (schema) => ({ json_schema: schema }));

/** `placed` puts the schema of an answer that is held to one where it belongs. */
export function writeFormat(output: OutputFormat, placed: (schema: JsonObject) => JsonObject): JsonObject {
  switch (output.kind) {
    case "text":
      return { type: "text" };
    case "json":
      return { type: "json_object" };
    case "json_schema": {
      const { name, strict } = output;
      const schema = completeSchema(output.schema);
      return {
        type: "json_schema",
        ...placed(withoutUndefined({ name, schema, strict: strictFor(schema, strict) })),
      };
    }
  }
}
