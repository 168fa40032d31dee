// The parts that a model says, as both requests and answers hold them.

import type { JsonObject } from "../../../platform/json.ts";
import type { ReasoningPart, ToolCallPart } from "../chat.ts";
import { isWrittenObject, parseArguments } from "../exact-json.ts";
import { writeToolInput } from "../tool-input.ts";
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
  return args && writeCallWith(args, call);
}

/** A call of an earlier turn. One that went wrong must not end the conversation, so whatever its arguments are is shown. */
export const writeEarlierCall = (call: Omit<ToolCallPart, "kind">): JsonObject =>
  writeCallWith(writeToolInput(call.arguments), call);

const writeCallWith = (args: JsonObject, { id, name, signature }: Omit<ToolCallPart, "kind">): JsonObject =>
  withoutUndefined({ functionCall: { id, name, args }, thoughtSignature: signature });

function readArguments(text: string): JsonObject | undefined {
  if (text.trim() === "") return {};
  try {
    const value: unknown = parseArguments(text);
    return isWrittenObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
