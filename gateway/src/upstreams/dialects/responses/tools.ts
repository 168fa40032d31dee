// The tools of a response, side by side or in namespaces.

import type { JsonObject } from "../../../platform/json.ts";
import { readCacheControl } from "../cache-control.ts";
import type { ChatRequest, ToolDefinition } from "../chat.ts";
import { Inexpressible } from "../dialect.ts";
import { onlyAllowed } from "../only-allowed.ts";
import {
  readFlag,
  readList,
  readObject,
  readText,
  refuseOthers,
  requireObject,
  requireText,
} from "../openai/members.ts";
import { checkToolName } from "../tool-name-length.ts";
import { readTextTool } from "./text-tools.ts";
import { readToolChoice } from "./tool-choice.ts";
import { checkNamesApart, joinedName, listsOfTools } from "./tool-names.ts";
import { readSearchTool, searchType } from "./tool-search.ts";

export function readToolMembers(body: JsonObject): Pick<ChatRequest, "tools" | "toolChoice"> {
  const lists = listsOfTools(body);
  const read = lists.flatMap(({ tools, path }) => readTools(tools, path));
  checkNamesApart(lists);
  // Whoever tells of its tools in items may tell of one again, and other vendors refuse a name that comes twice.
  const declared = [...new Map(read.map((tool) => [tool.name, tool])).values()];
  const { toolChoice, allowed } = readToolChoice(body["tool_choice"]);
  return { tools: allowed === undefined ? declared : onlyAllowed(declared, allowed), toolChoice };
}

function readTools(value: unknown, path: string, namespace?: string): readonly ToolDefinition[] {
  return (readList(value, path) ?? []).flatMap((item, at) => {
    const field = `${path}[${at}]`;
    const tool = requireObject(item, field);
    switch (tool["type"]) {
      case "function":
        return [readFunction(tool, field, namespace)];
      case "custom":
        return [readTextTool(tool, field, namespace)];
      case searchType:
        return readSearchTool(tool, field);
      case "namespace":
        if (namespace !== undefined) throw new Inexpressible(field, "stands in another namespace");
        refuseOthers(tool, namespaceMembers, field);
        return readTools(tool["tools"], `${field}.tools`, readNamespace(tool["name"], `${field}.name`));
      default:
        throw new Inexpressible(
          `${field}.type`,
          `${JSON.stringify(tool["type"])} exists with OpenAI's models only; leave it out or switch it off`,
        );
    }
  });
}

/** It is made a part of each name in it, and all of these are compared before any of them is told a vendor. */
const readNamespace = (name: unknown, field: string): string =>
  checkToolName(requireText(name, field), field);

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
