// The parts that a model says, as both requests and answers hold them.

import { isJsonObject } from "../../../platform/json.ts";
import type { JsonObject } from "../../../platform/json.ts";
import type { ReasoningPart, ToolCallPart } from "../chat.ts";
import { parseArguments } from "../exact-json.ts";
import { withoutUndefined } from "../without-undefined.ts";
import { writeThoughtSignature } from "./signatures.ts";

export const writeReasoning = (part: Omit<ReasoningPart, "kind">): JsonObject =>
  withoutUndefined({ text: part.text, thought: true, thoughtSignature: writeThoughtSignature(part) });

/** A thought that says nothing and is not signed or sealed either. */
export const isEmptyThought = ({ text, signature, redacted }: Omit<ReasoningPart, "kind">): boolean =>
  text === "" && signature === undefined && redacted === undefined;

/** Undefined when the arguments are not the JSON object that Google's format demands. */
export function writeCall(call: Omit<ToolCallPart, "kind">): JsonObject | undefined {
  const args = readArguments(call.arguments);
  if (args === undefined) return undefined;
  return withoutUndefined({
    functionCall: { id: call.id, name: call.name, args },
    thoughtSignature: call.signature,
  });
}

function readArguments(text: string): JsonObject | undefined {
  if (text.trim() === "") return {};
  try {
    const value: unknown = parseArguments(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
