// Some models of other vendors call under ids that Anthropic refuses (Kimi's are like `functions.look_up:0`). The caller was
// told them and keeps them; on their way to Anthropic, a call and its result get one that it takes.

import type { CallInput } from "../../operation/call-input.ts";
import { isJsonObject, objectOrEmpty, type JsonObject } from "../../platform/json.ts";
import { isToolUseId, toolUseId } from "../dialects/anthropic/tool-use-id.ts";
import { withoutMarked, type ForeignRule } from "./without-marked.ts";

/** The same call where every id is taken, which a look at the parsed body tells. */
export const withToolUseIds = (input: CallInput): CallInput =>
  hasOddId(input.body) ? withoutMarked(input, oddIds) : input;

const oddIds: ForeignRule = {
  words: ["tool_"],
  places: { messages: { content: {} } },
  judge: (block) => (isOdd(block) ? [memberOf(block)] : []),
  instead: (block, member) => toolUseId(String(block[member])),
};

function hasOddId(body: unknown): boolean {
  const messages = objectOrEmpty(body)["messages"];
  if (!Array.isArray(messages)) return false;
  for (const message of messages as unknown[]) {
    const content = objectOrEmpty(message)["content"];
    if (!Array.isArray(content)) continue;
    for (const block of content as unknown[]) if (isJsonObject(block) && isOdd(block)) return true;
  }
  return false;
}

function isOdd(block: JsonObject): boolean {
  if (block["type"] !== "tool_use" && block["type"] !== "tool_result") return false;
  const id = block[memberOf(block)];
  return typeof id === "string" && !isToolUseId(id);
}

const memberOf = ({ type }: JsonObject): string => (type === "tool_use" ? "id" : "tool_use_id");
