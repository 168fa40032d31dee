// Calls of tools as a message holds them. Where another vendor wants a token back with the call, it travels
// where Google's own OpenAI-compatible endpoint sends it, under a mark; clients return members they do not know.

import { isJsonObject, type JsonObject } from "../../../platform/json.ts";
import { checkCallId } from "../call-id.ts";
import type { ToolCallPart } from "../chat.ts";
import { marked, readMarked } from "../marks.ts";
import { readList, requireObject, requireText } from "./members.ts";
import { requireFunction } from "./tools.ts";

/** From a request: strictly. */
export function readToolCalls(value: unknown, field: string): readonly ToolCallPart[] {
  return (readList(value, field) ?? []).map((item, at) => {
    const within = `${field}[${at}]`;
    const call = requireObject(item, within);
    requireFunction(call["type"], `${within}.type`);
    const called = requireObject(call["function"], `${within}.function`);
    return {
      kind: "tool_call",
      id: checkCallId(requireText(call["id"], `${within}.id`), `${within}.id`),
      name: requireText(called["name"], `${within}.function.name`),
      arguments: requireText(called["arguments"], `${within}.function.arguments`),
      ...readSignature(call),
    };
  });
}

export const writeToolCall = ({ id, name, arguments: text }: ToolCallPart): JsonObject => ({
  id,
  type: "function",
  function: { name, arguments: text },
});

export function readSignature(call: JsonObject): { readonly signature?: string } {
  const extra = call["extra_content"];
  const google = isJsonObject(extra) ? extra["google"] : undefined;
  const signature = isJsonObject(google) ? google["thought_signature"] : undefined;
  if (typeof signature !== "string") return {};
  const read = readMarked(signature);
  // Without a mark it is from that endpoint itself.
  if (read === undefined) return { signature };
  return read.mark === "gemini" ? { signature: read.token } : {};
}

export const writeSignature = (signature: string | undefined): JsonObject =>
  signature === undefined
    ? {}
    : { extra_content: { google: { thought_signature: marked("gemini", signature) } } };

/**
 * An id for a call whose vendor gave none. Some vendors refuse the same id in two turns, hence the answer's id
 * in it; OpenAI refuses more than 40 characters.
 */
export const madeCallId = (answerId: string | undefined, at: number): string =>
  `call_${(answerId ?? "").replaceAll(/[^a-zA-Z0-9]/g, "").slice(-24)}_${at}`;
