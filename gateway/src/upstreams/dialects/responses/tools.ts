// The tools of a response stand side by side or in namespaces, and take JSON or free text. Other vendors know only functions
// that take JSON: one of a namespace bears both names there, and a text is given to it as its one argument.

import { isJsonObject, listOrEmpty, objectOrEmpty, type JsonObject } from "../../../platform/json.ts";
import type { ChatRequest, ToolChoice, ToolDefinition } from "../chat.ts";
import { Inexpressible, type DeclaredTool } from "../dialect.ts";
import { onlyAllowed, type AllowedTools } from "../only-allowed.ts";
import { readCacheControl } from "../cache-control.ts";
import { parseArguments } from "../exact-json.ts";
import {
  readFlag,
  readList,
  readObject,
  readText,
  refuseOthers,
  requireObject,
  requireText,
} from "../openai/members.ts";

export function readToolMembers(body: JsonObject): Pick<ChatRequest, "tools" | "toolChoice"> {
  const lists = listsOfTools(body);
  const read = lists.flatMap(({ tools, path }) => readTools(tools, path));
  checkNamesApart(lists);
  // Whoever tells of its tools in items may tell of one again, and other vendors refuse a name that comes twice.
  const declared = [...new Map(read.map((tool) => [tool.name, tool])).values()];
  const { toolChoice, allowed } = readToolChoice(body["tool_choice"]);
  return { tools: allowed === undefined ? declared : onlyAllowed(declared, allowed), toolChoice };
}

interface ListOfTools {
  readonly tools: unknown;
  readonly path: string;
}

/** Newer agents tell their tools in an item, which stands with what was said at the time. */
function listsOfTools({ tools, input }: JsonObject): readonly ListOfTools[] {
  const added = listOrEmpty(input).flatMap((item, at) =>
    isJsonObject(item) && item["type"] === "additional_tools"
      ? [{ tools: item["tools"], path: `input[${at}].tools` }]
      : [],
  );
  return [{ tools, path: "tools" }, ...added];
}

/** Of two tools that their vendor knew by one name, nobody could tell which was called. */
function checkNamesApart(lists: readonly ListOfTools[]): void {
  const known = new Map<string, DeclaredTool>();
  for (const { tools, path } of lists) {
    for (const tool of declaredIn(tools)) {
      const joined = joinedName(tool.name, tool.namespace);
      const { name, namespace } = known.get(joined) ?? tool;
      if (name !== tool.name || namespace !== tool.namespace) {
        throw new Inexpressible(
          path,
          `two tools would be called ${JSON.stringify(joined)} for this model; rename one`,
        );
      }
      known.set(joined, tool);
    }
  }
}

function readTools(value: unknown, path: string, namespace?: string): readonly ToolDefinition[] {
  return (readList(value, path) ?? []).flatMap((item, at) => {
    const field = `${path}[${at}]`;
    const tool = requireObject(item, field);
    switch (tool["type"]) {
      case "function":
        return [readFunction(tool, field, namespace)];
      case "custom":
        return [readCustom(tool, field, namespace)];
      case "namespace":
        if (namespace !== undefined) throw new Inexpressible(field, "stands in another namespace");
        refuseOthers(tool, namespaceMembers, field);
        return readTools(tool["tools"], `${field}.tools`, requireText(tool["name"], `${field}.name`));
      default:
        throw new Inexpressible(
          `${field}.type`,
          `${JSON.stringify(tool["type"])} exists with OpenAI's models only; leave it out or switch it off`,
        );
    }
  });
}

/** What a namespace is for, its tools say themselves. */
const namespaceMembers: ReadonlySet<string> = new Set(["type", "name", "description", "tools"]);

function readFunction(tool: JsonObject, field: string, namespace: string | undefined): ToolDefinition {
  refuseOthers(tool, functionMembers, field);
  return {
    name: joinedName(requireText(tool["name"], `${field}.name`), namespace),
    description: readText(tool["description"], `${field}.description`),
    parameters: readObject(tool["parameters"], `${field}.parameters`) ?? { type: "object", properties: {} },
    strict: readFlag(tool["strict"], `${field}.strict`),
    cache: readCacheControl(tool["cache_control"]),
  };
}

/** A tool whose loading may wait is told at once, and what it answers is for its caller alone. */
const functionMembers: ReadonlySet<string> = new Set([
  "type",
  "name",
  "description",
  "parameters",
  "strict",
  "cache_control",
  "defer_loading",
  "output_schema",
]);

function readCustom(tool: JsonObject, field: string, namespace: string | undefined): ToolDefinition {
  refuseOthers(tool, customMembers, field);
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

const customMembers: ReadonlySet<string> = new Set([
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

export const joinedName = (name: string, namespace: string | undefined): string =>
  namespace === undefined ? name : namespace + (namespace.endsWith("__") ? "" : "__") + name;

interface Choice {
  readonly toolChoice: ToolChoice | undefined;
  /** Some of the tools, of which alone one may be called. */
  readonly allowed?: AllowedTools;
}

function readToolChoice(value: unknown): Choice {
  if (value === undefined || value === null) return { toolChoice: undefined };
  if (value === "auto" || value === "none" || value === "required") return { toolChoice: value };
  const choice = requireObject(value, "tool_choice");
  return choice["type"] === "allowed_tools"
    ? readAllowed(choice)
    : { toolChoice: readNamed(choice, "tool_choice") };
}

function readAllowed({ mode, tools }: JsonObject): Choice {
  if (mode !== "auto" && mode !== "required") {
    throw new Inexpressible("tool_choice.mode", `${JSON.stringify(mode)} is not auto or required`);
  }
  const path = "tool_choice.tools";
  const named = (readList(tools, path) ?? []).map((item, at) =>
    readNamed(requireObject(item, `${path}[${at}]`), `${path}[${at}]`),
  );
  const names = new Set(named.map(({ name }) => name));
  const [only] = named;
  if (only === undefined) throw new Inexpressible(path, "must name a tool");
  return mode === "required" && names.size === 1
    ? { toolChoice: only }
    : { toolChoice: mode, allowed: { names, path } };
}

function readNamed(choice: JsonObject, field: string): { readonly name: string } {
  const { type } = choice;
  if (type !== "function" && type !== "custom") {
    throw new Inexpressible(`${field}.type`, `${JSON.stringify(type)} cannot be translated`);
  }
  const namespace = readText(choice["namespace"], `${field}.namespace`);
  return { name: joinedName(requireText(choice["name"], `${field}.name`), namespace) };
}

/** By the names under which their vendor knows them. */
export function declaredTools(body: JsonObject): ReadonlyMap<string, DeclaredTool> {
  const declared = listsOfTools(body).flatMap(({ tools }) => declaredIn(tools));
  return new Map(declared.map((tool) => [joinedName(tool.name, tool.namespace), tool]));
}

export const namesOfTools = (body: JsonObject): readonly string[] => [...declaredTools(body).keys()];

const declaredIn = (tools: unknown, namespace?: string): readonly DeclaredTool[] =>
  listOrEmpty(tools).flatMap((item): readonly DeclaredTool[] => {
    const { type, name, tools: within } = objectOrEmpty(item);
    if (typeof name !== "string") return [];
    if (type === "namespace") return namespace === undefined ? declaredIn(within, name) : [];
    return type === "function" || type === "custom" ? [{ type, name, namespace }] : [];
  });
