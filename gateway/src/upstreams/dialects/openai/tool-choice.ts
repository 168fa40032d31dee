// Which of its tools the model may or must call.

import type { JsonObject } from "../../../platform/json.ts";
import type { ToolChoice } from "../chat.ts";
import { Inexpressible } from "../dialect.ts";
import type { AllowedTools } from "../only-allowed.ts";
import { readList, requireObject, requireText } from "./members.ts";

export interface Choice {
  readonly toolChoice: ToolChoice | undefined;
  /** Some of the functions, of which alone one may be called. */
  readonly allowed?: AllowedTools;
  /** Of all functions, whatever each says. */
  readonly strict?: true;
}

export function readToolChoice(value: unknown): Choice {
  if (value === undefined || value === null) return { toolChoice: undefined };
  if (value === "auto" || value === "none" || value === "required") return { toolChoice: value };
  // Google's word for a free choice whose arguments keep to the schema, which GitHub Copilot asks of any Gemini.
  if (value === "validated") return { toolChoice: "auto", strict: true };
  if (typeof value === "string") {
    throw new Inexpressible("tool_choice", `${JSON.stringify(value)} is not auto, none or required`);
  }
  const choice = requireObject(value, "tool_choice");
  if (choice["type"] === "allowed_tools") {
    const field = "tool_choice.allowed_tools";
    return readAllowed(requireObject(choice["allowed_tools"], field), field, readNamed);
  }
  return { toolChoice: readNamed(choice, "tool_choice") };
}

/** `readTool` says which function one of the list is. */
export function readAllowed(
  { mode, tools }: JsonObject,
  field: string,
  readTool: (tool: JsonObject, field: string) => NamedTool,
): Choice {
  if (mode !== "auto" && mode !== "required") {
    throw new Inexpressible(`${field}.mode`, `${JSON.stringify(mode)} is not auto or required`);
  }
  const path = `${field}.tools`;
  const named = (readList(tools, path) ?? []).map((item, at) =>
    readTool(requireObject(item, `${path}[${at}]`), `${path}[${at}]`),
  );
  const names = new Set(named.map(({ name }) => name));
  const [only] = named;
  if (only === undefined) throw new Inexpressible(path, "must name a function");
  return mode === "required" && names.size === 1
    ? { toolChoice: only }
    : { toolChoice: mode, allowed: { names, path } };
}

interface NamedTool {
  readonly name: string;
}

function readNamed(object: JsonObject, field: string): NamedTool {
  requireFunction(object["type"], `${field}.type`);
  const named = requireObject(object["function"], `${field}.function`);
  return { name: requireText(named["name"], `${field}.function.name`) };
}

export const writeToolChoice = (choice: ToolChoice): unknown =>
  typeof choice === "string" ? choice : { type: "function", function: { name: choice.name } };

export function requireFunction(type: unknown, field: string): void {
  if (type === "function") return;
  throw new Inexpressible(field, `${JSON.stringify(type)} cannot be translated; only "function" can`);
}
