import type { JsonObject } from "../../../platform/json.ts";
import { readCacheControl, writeCacheControl } from "../cache-control.ts";
import type { ChatRequest, ToolChoice, ToolDefinition } from "../chat.ts";
import { Inexpressible } from "../dialect.ts";
import { forcesCall } from "../forces-call.ts";
import { withoutUndefined } from "../without-undefined.ts";
import { isClaudeSince } from "./claude-version.ts";
import { optionalList, optionalObject, optionalString, requiredObject, requiredString } from "./members.ts";
import { strictSchema } from "./strict-schema.ts";
import { canBeStrict, fitTogether } from "./strict-limits.ts";

export const readTools = (tools: unknown): ToolDefinition[] =>
  optionalList(tools, "tools").map((item) => readTool(requiredObject(item, "tools")));

function readTool(tool: JsonObject): ToolDefinition {
  const type = tool["type"] ?? "custom";
  if (type !== "custom") {
    throw new Inexpressible("tools", `${JSON.stringify(type)} exists in the Anthropic dialect only`);
  }
  const name = requiredString(tool["name"], "tools");
  const foreign = Object.keys(tool).find((member) => !translates(member, tool[member]));
  if (foreign !== undefined) {
    throw new Inexpressible(
      "tools",
      `${foreign} of ${JSON.stringify(name)} exists in the Anthropic dialect only`,
    );
  }
  return {
    name,
    description: optionalString(tool["description"], "tools"),
    parameters: requiredObject(tool["input_schema"], "tools"),
    strict: typeof tool["strict"] === "boolean" ? tool["strict"] : undefined,
    cache: readCacheControl(tool["cache_control"]),
  };
}

const toolMembers: ReadonlySet<string> = new Set([
  "type",
  "name",
  "description",
  "input_schema",
  "strict",
  "cache_control",
  // It changes how the answer travels, not what it says.
  "eager_input_streaming",
]);

function translates(member: string, value: unknown): boolean {
  if (toolMembers.has(member) || value === null || value === false) return true;
  return member === "allowed_callers" && Array.isArray(value) && value.every((caller) => caller === "direct");
}

export function writeTools(tools: readonly ToolDefinition[]): JsonObject[] | undefined {
  if (tools.length === 0) return undefined;
  const strict = tools.filter((tool) => tool.strict === true && canBeStrict(tool.parameters));
  // Where all of them are more than Anthropic holds a model to, none is strict: the promise goes, not the call.
  const areTaken = fitTogether(strict.map(({ parameters }) => parameters));
  return tools.map((tool) =>
    withoutUndefined({
      name: tool.name,
      description: tool.description,
      // Anthropic insists on the type, which a tool without parameters often lacks elsewhere.
      ...writeParameters({ type: "object", ...tool.parameters }, areTaken && strict.includes(tool)),
      ...writeCacheControl(tool),
    }),
  );
}

const writeParameters = (parameters: JsonObject, strict: boolean): JsonObject =>
  strict ? { input_schema: strictSchema(parameters), strict } : { input_schema: parameters };

export function readToolChoice(choice: unknown): Pick<ChatRequest, "toolChoice" | "parallelToolCalls"> {
  const object = optionalObject(choice, "tool_choice");
  if (object === undefined) return { toolChoice: undefined, parallelToolCalls: undefined };
  const disabled = object["disable_parallel_tool_use"];
  return {
    toolChoice: readChoice(object),
    parallelToolCalls: typeof disabled === "boolean" ? !disabled : undefined,
  };
}

function readChoice(choice: JsonObject): ToolChoice {
  switch (choice["type"]) {
    case "auto":
      return "auto";
    case "any":
      return "required";
    case "none":
      return "none";
    case "tool":
      return { name: requiredString(choice["name"], "tool_choice.name") };
    default:
      throw new Inexpressible("tool_choice.type", "must be auto, any, tool or none");
  }
}

/** Anthropic takes a choice only beside tools; without any, there is nothing to choose or to forbid. */
export function writeToolChoice(
  request: Pick<ChatRequest, "model" | "tools" | "toolChoice" | "parallelToolCalls">,
): JsonObject | undefined {
  const { model, tools, toolChoice, parallelToolCalls } = request;
  const oneAtATime = parallelToolCalls === false || parallelToolCalls === "unwanted";
  if (tools.length === 0) {
    if (!forcesCall(toolChoice)) return undefined;
    throw new Inexpressible("tool_choice", "a call is required, but there are no tools");
  }
  if (forcesCall(toolChoice) && cannotBeForced(model)) {
    throw new Inexpressible("tool_choice", "this model decides itself whether it calls a tool: use auto");
  }
  if (toolChoice === "none") return { type: "none" };
  if (toolChoice === undefined && !oneAtATime) return undefined;
  return {
    ...writeChoice(toolChoice ?? "auto"),
    ...(oneAtATime ? { disable_parallel_tool_use: true } : {}),
  };
}

/** These refuse a choice that leaves them none, whether they are asked to think or not. */
function cannotBeForced(model: string): boolean {
  if (/claude-(fable|mythos)/.test(model))
    return model.includes("preview") || isClaudeSince(model, { major: 5, minor: 1 });
  return /opus|sonnet/.test(model) && isClaudeSince(model, { major: 5, minor: 5 });
}

function writeChoice(choice: Exclude<ToolChoice, "none">): JsonObject {
  if (choice === "auto") return { type: "auto" };
  return choice === "required" ? { type: "any" } : { type: "tool", name: choice.name };
}
