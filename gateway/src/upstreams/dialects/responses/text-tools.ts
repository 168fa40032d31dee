// Tools that take free text. Other vendors know only such as take JSON, and give a text as its one member.

import { isJsonObject, type JsonObject } from "../../../platform/json.ts";
import type { ToolDefinition } from "../chat.ts";
import { Inexpressible } from "../dialect.ts";
import { parseArguments } from "../exact-json.ts";
import { readObject, readText, refuseOthers, requireText } from "../openai/members.ts";
import { joinedName } from "./tool-names.ts";

export function readTextTool(tool: JsonObject, field: string, namespace: string | undefined): ToolDefinition {
  refuseOthers(tool, textToolMembers, field);
  const description = readText(tool["description"], `${field}.description`);
  const grammar = readGrammar(tool["format"], `${field}.format`);
  return {
    name: joinedName(requireText(tool["name"], `${field}.name`), namespace),
    description: [description, grammar].filter((said) => said !== undefined).join("\n\n") || undefined,
    parameters: {
      type: "object",
      properties: { [textArgument]: { type: "string" } },
      required: [textArgument],
      additionalProperties: false,
    },
    strict: undefined,
    cache: undefined,
  };
}

const textToolMembers: ReadonlySet<string> = new Set([
  "type",
  "name",
  "description",
  "format",
  "defer_loading",
]);

/** Others cannot make a model keep to a grammar, but it can be told. */
function readGrammar(value: unknown, field: string): string | undefined {
  const format = readObject(value, field);
  if (format === undefined || format["type"] === "text") return undefined;
  if (format["type"] !== "grammar") {
    throw new Inexpressible(`${field}.type`, `${JSON.stringify(format["type"])} is not text or grammar`);
  }
  const definition = requireText(format["definition"], `${field}.definition`);
  const syntax = requireText(format["syntax"], `${field}.syntax`);
  return `The member "${textArgument}" has to keep to this grammar (${syntax}):\n${definition}`;
}

/** The one argument in which a tool of free text gets its text. */
const textArgument = "input";

export const writeTextArgument = (text: string): string => JSON.stringify({ [textArgument]: text });

/** What a model that gives anything else meant is for its tool to say. */
export function readTextArgument(args: string): string {
  try {
    const given: unknown = parseArguments(args);
    const text = isJsonObject(given) ? given[textArgument] : undefined;
    return typeof text === "string" ? text : args;
  } catch {
    return args;
  }
}
