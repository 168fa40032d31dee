// Members that nobody reads. Anthropic refuses what it does not know, at every depth, so what it knows and others cannot
// be told is refused by name too, and no client that works with Anthropic sends anything else.

import { isJsonObject, type JsonObject } from "../../../platform/json.ts";
import { Inexpressible } from "../dialect.ts";
import { isSilent } from "./members.ts";

/** Refuses the first member that is not known and says something. */
export function checkMembers(object: JsonObject, known: ReadonlySet<string>, path: string): void {
  const foreign = Object.keys(object).find(
    (name) => !known.has(name) && !isSilent(object[name]) && !isPlain(name, object[name]),
  );
  if (foreign !== undefined) {
    throw new Inexpressible(`${path}${foreign}`, "exists in the Anthropic dialect only, if at all");
  }
}

/** What is asked for by saying nothing, too. */
const plainValues: Readonly<Record<string, unknown>> = { speed: "standard", inference_geo: "global" };

const isPlain = (name: string, value: unknown): boolean =>
  Object.hasOwn(plainValues, name) && plainValues[name] === value;

/** The same for the system prompt, the messages and their blocks. What is no list or no object is told elsewhere. */
export function checkConversation({ system, messages }: JsonObject): void {
  checkBlocks(system, "system");
  for (const [message, field] of objectsOf(messages, "messages")) {
    checkMembers(message, message["role"] === "system" ? instructionMembers : messageMembers, `${field}.`);
    checkBlocks(message["content"], `${field}.content`);
  }
}

const messageMembers: ReadonlySet<string> = new Set(["role", "content"]);
const instructionMembers: ReadonlySet<string> = new Set(["role", "content", "clear_at"]);

/** Who called a tool, and out of which set it is, changes nothing for a model that only sees the call. */
const blockMembers: ReadonlyMap<unknown, ReadonlySet<string>> = new Map(
  Object.entries({
    text: ["text", "citations"],
    image: ["source"],
    document: ["source", "title", "citations"],
    thinking: ["thinking", "signature"],
    redacted_thinking: ["data"],
    tool_use: ["id", "name", "input", "caller", "toolset_name"],
    tool_result: ["tool_use_id", "content", "is_error", "toolset_name"],
  }).map(([type, members]) => [type, new Set(["type", "cache_control", ...members])]),
);

function checkBlocks(content: unknown, path: string): void {
  for (const [block, field] of objectsOf(content, path)) {
    const known = blockMembers.get(block["type"]);
    if (known === undefined) continue;
    checkMembers(block, known, `${field}.`);
    if (block["type"] === "tool_result") checkBlocks(block["content"], `${field}.content`);
  }
}

const objectsOf = (list: unknown, path: string): (readonly [JsonObject, string])[] =>
  Array.isArray(list)
    ? list.flatMap((item: unknown, at) => (isJsonObject(item) ? [[item, `${path}.${at}`] as const] : []))
    : [];
