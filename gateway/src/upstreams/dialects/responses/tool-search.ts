// A search for tools that their caller tells of only once they are found. Codex looks through those of its MCP servers this way.
// Other vendors know no such tool, but the caller runs it like any other: they are told of it as a function, and of what was
// found as of tools that came later.

import { isJsonObject, type JsonObject } from "../../../platform/json.ts";
import type { ToolDefinition, ToolResultPart } from "../chat.ts";
import { parseArguments } from "../exact-json.ts";
import { readObject, readText, refuseOthers } from "../openai/members.ts";

export const searchType = "tool_search";

/** What OpenAI itself runs looks through tools that stand in the request, of which other vendors are told at once. */
export const isRunByCaller = ({ execution }: JsonObject): boolean => execution === "client";

export function readSearchTool(tool: JsonObject, field: string): readonly ToolDefinition[] {
  refuseOthers(tool, searchMembers, field);
  if (!isRunByCaller(tool)) return [];
  return [
    {
      name: searchType,
      description: readText(tool["description"], `${field}.description`),
      parameters: readObject(tool["parameters"], `${field}.parameters`) ?? { type: "object", properties: {} },
      strict: undefined,
      cache: undefined,
    },
  ];
}

const searchMembers: ReadonlySet<string> = new Set(["type", "execution", "description", "parameters"]);

/** They are objects here, which models write and read as a text. */
export const writeSearched = (asked: unknown): string => JSON.stringify(asked ?? {});

/** What a model that gives anything else meant is for its caller to say. */
export function readSearched(args: string): unknown {
  try {
    return parseArguments(args === "" ? "{}" : args);
  } catch {
    return args;
  }
}

/** The tools themselves are told where all tools are; here their names alone, as their vendor knows them. */
export const foundBy = (callId: string, names: readonly string[]): ToolResultPart => ({
  kind: "tool_result",
  callId,
  name: searchType,
  content: [],
  found: names,
  isError: false,
});

/** An item may tell of tools by itself, or of those that a search has found. */
export const listsTools = (item: unknown): item is JsonObject =>
  isJsonObject(item) && (item["type"] === "additional_tools" || item["type"] === "tool_search_output");
