// Which tools the model may call, and whether it must: chat completions and responses have the same words for it.

import type { Conversation, Tool } from "../../model/conversation.ts";
import { isNothing, isObject, type JsonObject } from "../../vendor.ts";
import { objectOr, objectsIn } from "../checks.ts";

type Chosen = Pick<Conversation, "tools" | "toolChoice">;

/** Undefined when the choice cannot be followed. */
export function readToolChoice(choice: unknown, tools: readonly Tool[]): Chosen | undefined {
  if (isNothing(choice) || choice === "auto") return { tools, toolChoice: "auto" };
  if (choice === "none") return { tools, toolChoice: "none" };
  if (choice === "required") return tools.length > 0 ? { tools, toolChoice: "required" } : undefined;
  if (!isObject(choice)) return undefined;
  if (choice["type"] !== "allowed_tools") return amongNamed({ mode: "required", tools: [choice] }, tools);
  return amongNamed(objectOr(choice["allowed_tools"], choice), tools);
}

function amongNamed({ mode, tools: given }: JsonObject, tools: readonly Tool[]): Chosen | undefined {
  const names = objectsIn(given).map(nameIn);
  const named = tools.filter(({ name }) => names.includes(name));
  const areKnown = names.every((name) => named.some((tool) => tool.name === name));
  if (names.length === 0 || !areKnown) return undefined;
  if (mode === "auto") return { tools: named, toolChoice: "auto" };
  return mode === "required" ? { tools, toolChoice: named.map(({ name }) => name) } : undefined;
}

const nameIn = (named: JsonObject): unknown =>
  objectOr(named["function"], objectOr(named["custom"], named))["name"];
