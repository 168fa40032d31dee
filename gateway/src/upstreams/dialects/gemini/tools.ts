// The functions a model may call and how free it is to call them, both ways.

import type { JsonObject } from "../../../platform/json.ts";
import type { ChatRequest, ToolChoice, ToolDefinition } from "../chat.ts";
import { Inexpressible } from "../dialect.ts";
import { forcesCall } from "../forces-call.ts";
import { onlyAllowed, type AllowedTools } from "../only-allowed.ts";
import { withoutUndefined } from "../without-undefined.ts";
import { elementsOf, membersOf, objectOf, textOf, textsOf } from "./members.ts";
import type { Member } from "./members.ts";
import { toJsonSchema } from "./schema.ts";

type Tools = Pick<ChatRequest, "tools" | "toolChoice">;

export function readTools(tools: Member | undefined, config: Member | undefined): Tools {
  const { toolChoice, strict, allowed } = readChoice(config);
  const declared = elementsOf(tools).flatMap((tool) => {
    const members = membersOf(tool);
    const declarations = elementsOf(members.take("functionDeclarations"));
    // What is left are tools of Google's own: its search, its code runner, its browser.
    members.refuseRest();
    return declarations.map((declaration) => readDeclaration(declaration, strict));
  });
  return { tools: allowed === undefined ? declared : onlyAllowed(declared, allowed), toolChoice };
}

function readDeclaration(declaration: Member, strict: boolean | undefined): ToolDefinition {
  const members = membersOf(declaration);
  const name = textOf(members.take("name"));
  if (name === undefined) throw new Inexpressible(`${declaration.path}.name`, "is required");
  const description = textOf(members.take("description"));
  const openApi = objectOf(members.take("parameters"));
  const jsonSchema = objectOf(members.take("parametersJsonSchema"));
  // The schema of the result is a hint to the model; no other dialect has a place for it.
  members.take("response");
  members.take("responseJsonSchema");
  const behavior = members.take("behavior");
  if (behavior !== undefined && behavior.value !== "BLOCKING" && behavior.value !== "UNSPECIFIED") {
    throw new Inexpressible(behavior.path, "only BLOCKING can be translated");
  }
  members.refuseRest();
  const isKept = strict === true;
  const parameters = jsonSchema ?? (openApi === undefined ? noParameters : toJsonSchema(openApi, { isKept }));
  return { name, description, parameters, strict };
}

const noParameters: JsonObject = { type: "object", properties: {} };

interface Choice {
  readonly toolChoice: ToolChoice | undefined;
  readonly strict?: boolean;
  /** Several functions, of which one is to be called. */
  readonly allowed?: AllowedTools;
}

function readChoice(config: Member | undefined): Choice {
  if (config === undefined) return { toolChoice: undefined };
  const members = membersOf(config);
  const calling = members.take("functionCallingConfig");
  members.refuseRest();
  if (calling === undefined) return { toolChoice: undefined };

  const inner = membersOf(calling);
  const mode = inner.take("mode");
  const wanted = textOf(mode)?.toUpperCase();
  const allowed = inner.take("allowedFunctionNames");
  const names = new Set(textsOf(allowed));
  inner.refuseRest();
  if (allowed !== undefined && names.size > 0 && wanted !== "ANY") {
    throw new Inexpressible(allowed.path, "can be translated in mode ANY only");
  }
  switch (wanted) {
    case undefined:
    case "MODE_UNSPECIFIED":
      return { toolChoice: undefined };
    case "AUTO":
      return { toolChoice: "auto" };
    case "VALIDATED":
      return { toolChoice: "auto", strict: true };
    case "NONE":
      return { toolChoice: "none" };
    case "ANY": {
      const [only] = names;
      if (allowed === undefined || only === undefined) return { toolChoice: "required" };
      if (names.size === 1) return { toolChoice: { name: only } };
      return { toolChoice: "required", allowed: { names, path: allowed.path } };
    }
    default:
      throw new Inexpressible(mode?.path ?? calling.path, "is not a mode of function calling");
  }
}

export function writeTools({ tools, toolChoice }: Tools): JsonObject {
  if (tools.length === 0) {
    if (!forcesCall(toolChoice)) return {};
    throw new Inexpressible("tool_choice", "asks for a tool, and there are none");
  }
  const strict = tools.some((tool) => tool.strict === true);
  return withoutUndefined({
    tools: [{ functionDeclarations: tools.map(writeDeclaration) }],
    toolConfig: writeChoice(toolChoice, strict),
  });
}

function writeDeclaration({ name, description, parameters }: ToolDefinition): JsonObject {
  // Google refuses an object without properties in some versions; a function without parameters says nothing.
  const { type, properties, ...rest } = parameters;
  const empty =
    (type === undefined || type === "object") &&
    Object.keys(properties ?? {}).length === 0 &&
    Object.keys(rest).every((member) => member === "additionalProperties" || member === "$schema");
  return withoutUndefined({ name, description, parametersJsonSchema: empty ? undefined : parameters });
}

function writeChoice(choice: ToolChoice | undefined, strict: boolean): JsonObject | undefined {
  const config = (functionCallingConfig: JsonObject): JsonObject => ({ functionCallingConfig });
  if (typeof choice === "object") return config({ mode: "ANY", allowedFunctionNames: [choice.name] });
  switch (choice) {
    // Arguments that keep to the schema are a mode here; ANY keeps to it by itself.
    case undefined:
      return strict ? config({ mode: "VALIDATED" }) : undefined;
    case "auto":
      return config({ mode: strict ? "VALIDATED" : "AUTO" });
    case "none":
      return config({ mode: "NONE" });
    case "required":
      return config({ mode: "ANY" });
  }
}
