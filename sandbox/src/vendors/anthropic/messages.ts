// The vendor's messages read as turns: results of tools are turns of their own, thoughts are not read again.

import type { Block, CacheTime, Turn } from "../../model/conversation.ts";
import { isNothing, isObject, type JsonObject } from "../../vendor.ts";
import { isListOf, isText, objectOr, objectsIn } from "../checks.ts";
import { refused, type Refused } from "./errors.ts";
import { signatureOf } from "./signature.ts";

export function readMessages(messages: readonly unknown[], model: string): Turn[] | Refused {
  const turns: Turn[] = [];
  let called: ReadonlySet<string> = new Set();

  for (const [n, message] of messages.entries()) {
    if (!isObject(message)) return refused(`messages.${n}: Input should be an object`);
    const { role, content } = message;
    if (role === "system") {
      const added = readInstructions(messages, n, model);
      if ("refused" in added) return added;
      turns.push(added);
      continue;
    }
    if (role !== "user" && role !== "assistant")
      return refused(`messages.${n}.role: Input should be 'user' or 'assistant'`);
    const blocks = blocksIn(content);
    if (blocks === undefined) return refused(`messages.${n}.content: Input should be a valid list`);
    const wrong = blocks.findIndex((block) => !isBlock(block, role));
    if (wrong >= 0) return refused(`messages.${n}.content.${wrong}: ${wrongWith(blocks[wrong])}`);

    const answered = idsOf(blocks, "tool_result", "tool_use_id");
    const stray = answered.values().find((id) => !called.has(id));
    if (stray !== undefined)
      return refused(
        `messages.${n}.content: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${stray}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
      );
    const open = called.values().find((id) => !answered.has(id));
    if (open !== undefined)
      return refused(
        `messages.${n}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open}.`,
      );
    called = idsOf(blocks, "tool_use", "id");
    turns.push(...turnsOf(role, blocks));
  }
  return turns;
}

/** Instructions that were added behind a turn of the user's, where the model knows them there. */
function readInstructions(messages: readonly unknown[], n: number, model: string): Turn | Refused {
  const roleAt = (at: number): unknown => objectOr(messages[at])["role"];
  if (n === 0)
    return refused("messages.0: use the top-level 'system' parameter for the initial system prompt");
  if (!takesInstructions.test(model)) return refused("role 'system' is not supported on this model");
  if (roleAt(n - 1) !== "user") return refused(`messages.${n}: role 'system' must follow a 'user' message`);
  if (n + 1 < messages.length && roleAt(n + 1) !== "assistant")
    return refused(
      `messages.${n}: role 'system' must precede an 'assistant' message or end the array; the directive-only form (content: [] with output_config) is accepted at any position`,
    );
  const { content } = objectOr(messages[n]);
  const blocks = blocksIn(content);
  if (blocks === undefined || !blocks.every(isTextBlock))
    return refused(`messages.${n}.content: Input should be a valid list of text blocks`);
  return { role: "system", blocks: blocks.map(readBlock), calls: [] };
}

const takesInstructions = /opus-(4-8|5)|(fable|mythos)-5|(sonnet|haiku)-5-5/;

/** Undefined when it is neither a text nor a list of blocks. */
export function blocksIn(content: unknown): readonly JsonObject[] | undefined {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return isListOf(content, isObject) ? objectsIn(content) : undefined;
}

/** Every block that carries a text or something to look at, be it an image or the pages of a document. */
export function readBlock(block: JsonObject): Block {
  const { type, source } = block;
  const isSeen = type === "image" || (type === "document" && isLookedAt(objectOr(source)));
  const image = isSeen ? { image: JSON.stringify(source) } : {};
  return { text: textIn(block), ...image, ...cacheOf(block) };
}

const isLookedAt = ({ type }: JsonObject): boolean => type === "base64" || type === "url";

function textIn({ type, text, source, content }: JsonObject): string {
  if (type === "search_result") return textOfAll(content);
  if (type !== "document") return textOr(text);
  const { type: kind, data, content: written } = objectOr(source);
  if (kind === "content") return textOfAll(written);
  return kind === "text" ? textOr(data) : "";
}

const textOfAll = (content: unknown): string =>
  (blocksIn(content) ?? []).map(({ text }) => textOr(text)).join("\n");

const textOr = (value: unknown): string => (typeof value === "string" ? value : "");

export function cacheOf({ cache_control: control }: JsonObject): { cacheFor?: CacheTime } {
  if (!isObject(control)) return {};
  return { cacheFor: control["ttl"] === "1h" ? "1h" : "5m" };
}

function turnsOf(role: "user" | "assistant", blocks: readonly JsonObject[]): Turn[] {
  const results = blocks.filter(({ type }) => type === "tool_result").map(resultTurn);
  const calls = blocks.filter(({ type }) => type === "tool_use");
  const read = blocks.filter(({ type }) => readTypes.has(type));
  if (read.length === 0 && calls.length === 0 && results.length > 0) return results;

  const marked = calls.map(cacheOf).findLast(({ cacheFor }) => cacheFor !== undefined) ?? {};
  const turn: Turn = {
    role,
    blocks: read.map(readBlock),
    calls: calls.map(({ name, input }) => ({ name: String(name), input })),
    ...marked,
  };
  return [...results, turn];
}

const readTypes: ReadonlySet<unknown> = new Set(["text", "image", "document", "search_result"]);

const resultTurn = (result: JsonObject): Turn => ({
  role: "tool",
  blocks: (blocksIn(result["content"]) ?? []).map(readBlock),
  calls: [],
  ...cacheOf(result),
});

const idsOf = (blocks: readonly JsonObject[], type: string, member: string): ReadonlySet<string> =>
  new Set(blocks.filter((block) => block["type"] === type).map((block) => String(block[member])));

function isBlock(block: JsonObject, role: string): boolean {
  switch (block["type"]) {
    case "text":
      return typeof block["text"] === "string";
    case "image":
    case "document":
      return isSource(objectOr(block["source"]));
    case "search_result":
      return isText(block["source"]) && isText(block["title"]) && isListOf(block["content"], isTextBlock);
    case "tool_use":
      return role === "assistant" && isText(block["id"]) && isText(block["name"]) && isObject(block["input"]);
    case "tool_result":
      return role === "user" && isText(block["tool_use_id"]) && isResult(block["content"]);
    case "thinking":
      return role === "assistant" && block["signature"] === signatureOf(String(block["thinking"]));
    default:
      return role === "assistant" && block["type"] === "redacted_thinking";
  }
}

const isResult = (content: unknown): boolean => isNothing(content) || blocksIn(content) !== undefined;

const isTextBlock = (block: unknown): boolean =>
  isObject(block) && block["type"] === "text" && typeof block["text"] === "string";

function isSource({ type, media_type: mediaType, data, url, content }: JsonObject): boolean {
  if (type === "url") return isText(url);
  if (type === "content") return blocksIn(content) !== undefined;
  return (type === "base64" || type === "text") && isText(mediaType) && isText(data);
}

const wrongWith = (block: JsonObject | undefined): string =>
  block?.["type"] === "thinking"
    ? "Invalid `signature` in `thinking` block"
    : `Input tag '${String(block?.["type"])}' does not match any of the expected tags here, or misses a member`;
