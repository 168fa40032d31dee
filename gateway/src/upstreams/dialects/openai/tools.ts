// The tools that a model may call.

import type { JsonObject } from "../../../platform/json.ts";
import { readCacheControl, writeCacheControl } from "../cache-control.ts";
import type { ChatRequest, ToolDefinition } from "../chat.ts";
import { onlyAllowed } from "../only-allowed.ts";
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
import { readToolChoice, requireFunction } from "./tool-choice.ts";

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
