// Tools, and which of them the model may or must call.

import type { JsonObject } from "../../../platform/json.ts";
import { readCacheControl, writeCacheControl } from "../cache-control.ts";
import type { ChatRequest, ToolChoice, ToolDefinition } from "../chat.ts";
import { Inexpressible } from "../dialect.ts";
import { onlyAllowed, type AllowedTools } from "../only-allowed.ts";
import { withoutUndefined } from "../without-undefined.ts";
import { completeParameters } from "./complete-schema.ts";
import {
  readFlag,
  readList,
  readObject,
  readText,
  refuseOthers,
  requireObject,
  requireText,
} from "./members.ts";
import { strictFor } from "./strict-schema.ts";

export function readToolMembers(body: JsonObject): Pick<ChatRequest, "tools" | "toolChoice"> {
  const written = readTools(body["tools"]);
  const { toolChoice, allowed, strict } = readToolChoice(body["tool_choice"]);
  const declared = strict === true ? written.map((tool) => ({ ...tool, strict })) : written;
  return { tools: allowed === undefined ? declared : onlyAllowed(declared, allowed), toolChoice };
}

function readTools(value: unknown): readonly ToolDefinition[] {
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
  tools.map(({ name, description, parameters: asked, strict, cache }) => {
    const parameters = completeParameters(asked);
    return {
      type: "function",
      function: withoutUndefined({ name, description, parameters, strict: strictFor(parameters, strict) }),
      ...writeCacheControl({ cache }),
    };
  });

interface Choice {
  readonly toolChoice: ToolChoice | undefined;
  /** Some of the functions, of which alone one may be called. */
  readonly allowed?: AllowedTools;
  /** Of all functions, whatever each says. */
  readonly strict?: true;
}

function readToolChoice(value: unknown): Choice {
  if (value === undefined || value === null) return { toolChoice: undefined };
  if (value === "auto" || value === "none" || value === "required") return { toolChoice: value };
  // Google's word for a free choice whose arguments keep to the schema, which GitHub Copilot asks of any Gemini.
  if (value === "validated") return { toolChoice: "auto", strict: true };
  if (typeof value === "string") {
    throw new Inexpressible("tool_choice", `${JSON.stringify(value)} is not auto, none or required`);
  }
  const choice = requireObject(value, "tool_choice");
  if (choice["type"] === "allowed_tools") return readAllowed(choice["allowed_tools"]);
  requireFunction(choice["type"], "tool_choice.type");
  return { toolChoice: readNamed(choice, "tool_choice") };
}

function readAllowed(value: unknown): Choice {
  const field = "tool_choice.allowed_tools";
  const { mode, tools } = requireObject(value, field);
  if (mode !== "auto" && mode !== "required") {
    throw new Inexpressible(`${field}.mode`, `${JSON.stringify(mode)} is not auto or required`);
  }
  const path = `${field}.tools`;
  const named = (readList(tools, path) ?? []).map((item, at) => {
    const tool = requireObject(item, `${path}[${at}]`);
    requireFunction(tool["type"], `${path}[${at}].type`);
    return readNamed(tool, `${path}[${at}]`);
  });
  const names = new Set(named.map(({ name }) => name));
  const [only] = named;
  if (only === undefined) throw new Inexpressible(path, "must name a function");
  return mode === "required" && names.size === 1
    ? { toolChoice: only }
    : { toolChoice: mode, allowed: { names, path } };
}

function readNamed(object: JsonObject, field: string): { readonly name: string } {
  const named = requireObject(object["function"], `${field}.function`);
  return { name: requireText(named["name"], `${field}.function.name`) };
}

export const writeToolChoice = (choice: ToolChoice): unknown =>
  typeof choice === "string" ? choice : { type: "function", function: { name: choice.name } };

export function requireFunction(type: unknown, field: string): void {
  if (type === "function") return;
  throw new Inexpressible(field, `${JSON.stringify(type)} cannot be translated; only "function" can`);
}
