// Tools, and which of them the model may or must call.

import type { JsonObject } from "../../../platform/json.ts";
import { readCacheControl, writeCacheControl } from "../cache-control.ts";
import type { ToolChoice, ToolDefinition } from "../chat.ts";
import { Inexpressible } from "../dialect.ts";
import {
  readFlag,
  readList,
  readObject,
  readText,
  refuseOthers,
  requireObject,
  requireText,
  withoutUndefined,
} from "./members.ts";
import { strictFor } from "./strict-schema.ts";

export function readTools(value: unknown): readonly ToolDefinition[] {
  return (readList(value, "tools") ?? []).map((item, at) => {
    const field = `tools[${at}]`;
    const tool = requireObject(item, field);
    requireFunction(tool["type"], `${field}.type`);
    refuseOthers(tool, toolMembers, field);
    const definition = requireObject(tool["function"], `${field}.function`);
    refuseOthers(definition, functionMembers, `${field}.function`);
    return {
      name: requireText(definition["name"], `${field}.function.name`),
      description: readText(definition["description"], `${field}.function.description`),
      // Without parameters a function takes none; other vendors want that said.
      parameters: readObject(definition["parameters"], `${field}.function.parameters`) ?? {
        type: "object",
        properties: {},
      },
      strict: readFlag(definition["strict"], `${field}.function.strict`),
      cache: readCacheControl(tool["cache_control"]) ?? readCacheControl(definition["cache_control"]),
    };
  });
}

/** Callers of other vendors' models mark tools to be cached by two conventions: beside the function, and inside of it. */
const toolMembers: ReadonlySet<string> = new Set(["type", "function", "cache_control"]);
const functionMembers: ReadonlySet<string> = new Set([
  "name",
  "description",
  "parameters",
  "strict",
  "cache_control",
]);

export const writeTools = (tools: readonly ToolDefinition[]): readonly JsonObject[] =>
  tools.map(({ name, description, parameters, strict, cache }) => ({
    type: "function",
    function: withoutUndefined({
      name,
      description,
      parameters: withProperties(parameters),
      strict: strictFor(parameters, strict),
    }),
    ...writeCacheControl({ cache }),
  }));

/** OpenAI refuses an object without a list of its properties, which a tool without parameters often lacks elsewhere. */
const withProperties = (parameters: JsonObject): JsonObject =>
  parameters["type"] === "object" && parameters["properties"] === undefined
    ? { ...parameters, properties: {} }
    : parameters;

export function readToolChoice(value: unknown): ToolChoice | undefined {
  if (value === undefined || value === null) return undefined;
  if (value === "auto" || value === "none" || value === "required") return value;
  if (typeof value === "string") {
    throw new Inexpressible("tool_choice", `${JSON.stringify(value)} is not auto, none or required`);
  }
  const choice = requireObject(value, "tool_choice");
  requireFunction(choice["type"], "tool_choice.type");
  const named = requireObject(choice["function"], "tool_choice.function");
  return { name: requireText(named["name"], "tool_choice.function.name") };
}

export const writeToolChoice = (choice: ToolChoice): unknown =>
  typeof choice === "string" ? choice : { type: "function", function: { name: choice.name } };

export function requireFunction(type: unknown, field: string): void {
  if (type === "function") return;
  throw new Inexpressible(field, `${JSON.stringify(type)} cannot be translated; only "function" can`);
}
