// The form of the answer and the effort of thinking, both ways.

import type { JsonObject } from "../../../platform/json.ts";
import type { OutputFormat, Reasoning } from "../chat.ts";
import { Inexpressible } from "../dialect.ts";
import {
  readFlag,
  readObject,
  readText,
  requireObject,
  requireText,
  withoutUndefined,
} from "./openai-members.ts";

export function readOutput(value: unknown): OutputFormat | undefined {
  const format = readObject(value, "response_format");
  if (format === undefined) return undefined;
  switch (format["type"]) {
    case "text":
      return { kind: "text" };
    case "json_object":
      return { kind: "json" };
    case "json_schema":
      return readSchema(requireObject(format["json_schema"], "response_format.json_schema"));
    default:
      throw new Inexpressible(
        "response_format.type",
        `${JSON.stringify(format["type"])} is not text, json_object or json_schema`,
      );
  }
}

function readSchema(value: JsonObject): OutputFormat {
  const field = "response_format.json_schema";
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

export function writeOutput(output: OutputFormat): JsonObject {
  switch (output.kind) {
    case "text":
      return { type: "text" };
    case "json":
      return { type: "json_object" };
    case "json_schema": {
      const { name, schema, strict } = output;
      return { type: "json_schema", json_schema: withoutUndefined({ name, schema, strict }) };
    }
  }
}

export function readReasoning(value: unknown): Reasoning | undefined {
  const effort = readText(value, "reasoning_effort");
  switch (effort) {
    case undefined:
      return undefined;
    case "none":
      return "off";
    case "minimal":
    case "low":
    case "medium":
    case "high":
      return { effort };
    default:
      throw new Inexpressible(
        "reasoning_effort",
        `${JSON.stringify(effort)} is not none, minimal, low, medium or high`,
      );
  }
}

/**
 * This dialect knows no budget of thinking tokens. Google documents 1,024, 8,192 and 24,576 as what low, medium
 * and high mean; a budget becomes the nearest of them.
 */
export function writeReasoning(reasoning: Reasoning): string {
  if (reasoning === "off") return "none";
  if ("effort" in reasoning) return reasoning.effort;
  if (reasoning.budgetTokens <= 0) return "none";
  if (reasoning.budgetTokens <= 4_608) return "low";
  return reasoning.budgetTokens <= 16_384 ? "medium" : "high";
}
