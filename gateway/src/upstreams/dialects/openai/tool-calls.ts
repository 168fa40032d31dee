// Calls of tools as a message holds them. Where another vendor wants a token back with the call, it travels
// where Google's own OpenAI-compatible endpoint sends it, under a mark; clients return members they do not know.

import {
  jsonDepthMax,
  jsonValuesMaxUsual,
  objectOrEmpty,
  valuesIn,
  type JsonObject,
} from "../../../platform/json.ts";
import { checkCallId } from "../call-id.ts";
import type { ToolCallPart } from "../chat.ts";
import { Inexpressible } from "../dialect.ts";
import { marked, readMarked } from "../marks.ts";
import { readList, requireObject, requireText } from "./members.ts";
import { requireFunction } from "./tool-choice.ts";

/** From a request: strictly. */
export function readToolCalls(value: unknown, field: string, room: ArgumentsRoom): readonly ToolCallPart[] {
  return (readList(value, field) ?? []).map((item, at) => {
    const within = `${field}[${at}]`;
    const call = requireObject(item, within);
    requireFunction(call["type"], `${within}.type`);
    const called = requireObject(call["function"], `${within}.function`);
    return {
      kind: "tool_call",
      id: checkCallId(requireText(call["id"], `${within}.id`), `${within}.id`),
      name: requireText(called["name"], `${within}.function.name`),
      arguments: room.take(
        requireText(called["arguments"], `${within}.function.arguments`),
        `${within}.function.arguments`,
      ),
      ...readSignature(call),
    };
  });
}

/**
 * What is left for the arguments of one request's calls. They are JSON inside of strings, which nobody has looked into, and
 * other dialects want them parsed: all of them together have the bounds of a body.
 */
export class ArgumentsRoom {
  #values = jsonValuesMaxUsual;

  take(text: string, field: string): string {
    const values = valuesIn(text, { depthMax: jsonDepthMax, valuesMax: this.#values });
    if (values !== undefined) {
      this.#values -= values;
      return text;
    }
    throw new Inexpressible(
      field,
      `may be nested ${jsonDepthMax} deep, and all calls together may hold ${jsonValuesMaxUsual} values`,
    );
  }
}

export const writeToolCall = ({ id, name, arguments: text }: ToolCallPart): JsonObject => ({
  id,
  type: "function",
  function: { name, arguments: text },
});

export function readSignature(call: JsonObject): { readonly signature?: string } {
  const extra = call["extra_content"];
  const google = objectOrEmpty(extra)["google"];
  const signature = objectOrEmpty(google)["thought_signature"];
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
