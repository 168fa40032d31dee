// Which of its tools the model may or must call.

import type { JsonObject } from "../../../platform/json.ts";
import { Inexpressible } from "../dialect.ts";
import { readText, requireObject, requireText } from "../openai/members.ts";
import { readAllowed, type Choice } from "../openai/tool-choice.ts";
import { joinedName } from "./tool-names.ts";

export function readToolChoice(value: unknown): Choice {
  if (value === undefined || value === null) return { toolChoice: undefined };
  if (value === "auto" || value === "none" || value === "required") return { toolChoice: value };
  const choice = requireObject(value, "tool_choice");
  return choice["type"] === "allowed_tools"
    ? readAllowed(choice, "tool_choice", readNamed)
    : { toolChoice: readNamed(choice, "tool_choice") };
}

function readNamed(choice: JsonObject, field: string): { readonly name: string } {
  const { type } = choice;
  if (type !== "function" && type !== "custom") {
    throw new Inexpressible(`${field}.type`, `${JSON.stringify(type)} cannot be translated`);
  }
  const namespace = readText(choice["namespace"], `${field}.namespace`);
  return { name: joinedName(requireText(choice["name"], `${field}.name`), namespace) };
}
