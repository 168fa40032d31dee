import type { JsonObject } from "../../../platform/json.ts";
import type { OutputFormat } from "../chat.ts";
import { Inexpressible } from "../dialect.ts";
import { optionalObject, requiredObject } from "./members.ts";
import { hasMap, strictSchema } from "./strict-schema.ts";

/** `field` is `output_config.format`, or `output_format` as the beta had it. */
export function readOutputFormat(value: unknown, field: string): OutputFormat | undefined {
  const format = optionalObject(value, field);
  if (format === undefined) return undefined;
  if (format["type"] !== "json_schema") throw new Inexpressible(`${field}.type`, 'must be "json_schema"');
  // Anthropic gives a schema no name and always holds the model to it.
  const schema = requiredObject(format["schema"], `${field}.schema`);
  return { kind: "json_schema", name: "output", schema, strict: true };
}

export function writeOutputFormat(output: OutputFormat | undefined): JsonObject | undefined {
  if (output === undefined || output.kind === "text") return undefined;
  if (output.kind === "json_schema") {
    if (hasMap(output.schema)) {
      throw new Inexpressible(
        "response_format.json_schema",
        "with this model an object must name the members it may have",
      );
    }
    return { type: "json_schema", schema: strictSchema(output.schema) };
  }
  throw new Inexpressible("response_format", "this model writes JSON only to a schema, which must be given");
}
