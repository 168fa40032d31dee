import { objectOrEmpty, type JsonObject } from "../../../platform/json.ts";
import { isSaid } from "../added-instructions.ts";
import { readCacheControl } from "../cache-control.ts";
import { checkCallId } from "../call-id.ts";
import type {
  Cacheable,
  ChatPart,
  ChatRequest,
  FilePart,
  ImagePart,
  TextPart,
  ToolCallPart,
} from "../chat.ts";
import { Inexpressible } from "../dialect.ts";
import { readDocumentBlock, readImageBlock, readTextBlock } from "./content-blocks.ts";
import { isSilent, optionalList, optionalString, requiredObject, requiredString } from "./members.ts";
import { CarriedSignature } from "./signed-thoughts.ts";
import { readToolInput } from "../tool-input.ts";

/** Instructions before the first word are the system prompt; later ones keep their place. */
export function readConversation(body: JsonObject): Pick<ChatRequest, "system" | "messages"> {
  const system = withoutLabel(readInstructions(body["system"], "system"));
  const messages: ChatRequest["messages"][number][] = [];
  const items = optionalList(body["messages"], "messages");
  const clearedBefore = answeredBeforeLastQuestion(items);
  for (const [at, item] of items.entries()) {
    const field = `messages.${at}`;
    const { role, content, clear_at: clearAt } = requiredObject(item, field);
    if (role === "system") {
      if (isForOneTurn(clearAt, `${field}.clear_at`) && at < clearedBefore) continue;
      const parts = readInstructions(content, `${field}.content`);
      if (messages.length === 0) system.push(...parts);
      else if (parts.length > 0) messages.push({ role, parts });
    } else if (role === "user" || role === "assistant") {
      messages.push({ role, parts: readContent(content, `${field}.content`) });
    } else throw new Inexpressible(`${field}.role`, 'must be "user", "assistant" or "system"');
  }
  return { system, messages: markedAtEnd(messages, readCacheControl(body["cache_control"])) };
}

/**
 * Instructions may be meant for one answer: once the user has spoken after it, Anthropic shows them to the model no more, and
 * they stay in the conversation only for its cache.
 */
function isForOneTurn(clearAt: unknown, field: string): boolean {
  if (isSilent(clearAt) || clearAt === "never") return false;
  if (clearAt === "next_user_message") return true;
  throw new Inexpressible(field, 'must be "next_user_message" or "never"');
}

/** Where the last answer stands behind which the user has spoken; 0 where there is none. */
function answeredBeforeLastQuestion(items: readonly unknown[]): number {
  const roles = items.map((item) => objectOrEmpty(item)["role"]);
  const question = roles.lastIndexOf("user");
  return Math.max(roles.slice(0, Math.max(question, 0)).lastIndexOf("assistant"), 0);
}

/**
 * Claude Code begins its instructions with a line for Anthropic's books that is another one in every request. To another
 * vendor it would say nothing, and keep it from finding anything of the prompt in its cache.
 */
function withoutLabel([first, ...rest]: readonly TextPart[]): TextPart[] {
  if (first === undefined) return [];
  const text = first.text.replace(/^x-anthropic-billing-header:.*\n?/, "");
  return text === "" ? rest : [{ ...first, text }, ...rest];
}

/** A mark on the whole request stands for one on the last part of what was said, wherever instructions go. */
function markedAtEnd(messages: ChatRequest["messages"], cache: Cacheable["cache"]): ChatRequest["messages"] {
  const at = messages.findLastIndex(isSaid);
  const last = messages[at];
  if (cache === undefined || last === undefined || !isSaid(last)) return messages;
  return messages.with(at, { ...last, parts: withLast(last.parts, (part) => marked(part, cache)) });
}

/** Nobody else can mark a result as a whole; its end is the same place. */
function marked(part: ChatPart, cache: Cacheable["cache"]): ChatPart {
  if (part.kind === "tool_result")
    return { ...part, content: withLast(part.content, (shown) => ({ ...shown, cache })) };
  return part.kind === "tool_call" || part.kind === "reasoning" ? part : { ...part, cache };
}

const withLast = <Item>(items: readonly Item[], change: (last: Item) => Item): readonly Item[] =>
  items.map((item, at) => (at === items.length - 1 ? change(item) : item));

function readInstructions(content: unknown, field: string): TextPart[] {
  if (typeof content === "string") return content === "" ? [] : [{ kind: "text", text: content }];
  return optionalList(content, field).map((item, at) => {
    const place = `${field}.${at}`;
    const block = requiredObject(item, place);
    if (block["type"] !== "text") throw new Inexpressible(place, "must be a text block");
    return readTextBlock(block, place);
  });
}

function readContent(content: unknown, field: string): ChatPart[] {
  if (typeof content === "string") return [{ kind: "text", text: content }];
  const carried = new CarriedSignature();
  return optionalList(content, field).flatMap((item, at) =>
    readBlock(requiredObject(item, `${field}.${at}`), `${field}.${at}`, carried),
  );
}

function readBlock(block: JsonObject, field: string, carried: CarriedSignature): ChatPart[] {
  switch (block["type"]) {
    case "text":
      return [readTextBlock(block, field)];
    case "image":
      return [readImageBlock(block, field)];
    case "document":
      return [readDocumentBlock(block, field)];
    case "thinking":
      return readThinking(block, field, carried);
    case "redacted_thinking":
      return [{ kind: "reasoning", text: "", redacted: requiredString(block["data"], `${field}.data`) }];
    case "tool_use":
      return [{ ...readToolUse(block, field), ...carried.take() }];
    case "tool_result":
      return [readToolResult(block, field)];
    default:
      throw untranslatable(block, field);
  }
}

function readThinking(block: JsonObject, field: string, carried: CarriedSignature): ChatPart[] {
  const text = requiredString(block["thinking"], `${field}.thinking`);
  return carried.thought(text, optionalString(block["signature"], `${field}.signature`) ?? "");
}

const readToolUse = (block: JsonObject, field: string): ToolCallPart => ({
  kind: "tool_call",
  id: readCallId(block["id"], `${field}.id`),
  name: requiredString(block["name"], `${field}.name`),
  arguments: readToolInput(block["input"]),
});

const readCallId = (id: unknown, field: string): string => checkCallId(requiredString(id, field), field);

function readToolResult(block: JsonObject, field: string): ChatPart {
  const result: ChatPart = {
    kind: "tool_result",
    callId: readCallId(block["tool_use_id"], `${field}.tool_use_id`),
    name: undefined,
    content: readShown(block["content"], `${field}.content`),
    isError: block["is_error"] === true,
  };
  const cache = readCacheControl(block["cache_control"]);
  return cache === undefined ? result : marked(result, cache);
}

function readShown(content: unknown, field: string): (TextPart | ImagePart | FilePart)[] {
  if (typeof content === "string") return [{ kind: "text", text: content }];
  return optionalList(content, field).map((item, at) => {
    const place = `${field}.${at}`;
    const block = requiredObject(item, place);
    if (block["type"] === "text") return readTextBlock(block, place);
    if (block["type"] === "image") return readImageBlock(block, place);
    if (block["type"] === "document") return readDocumentBlock(block, place);
    throw untranslatable(block, place);
  });
}

const untranslatable = (block: JsonObject, field: string): Inexpressible =>
  new Inexpressible(
    field,
    `blocks of type ${JSON.stringify(block["type"])} exist in the Anthropic dialect only`,
  );
