import type { JsonObject } from "../../../platform/json.ts";
import type { ChatMessage, ChatPart, ReasoningPart, TextPart, ToolResultPart } from "../chat.ts";
import { Inexpressible } from "../dialect.ts";
import { withoutUndefined } from "../without-undefined.ts";
import { isBlank, writeDocumentBlock, writeImageBlock, writeTextBlock } from "./content-blocks.ts";
import { writeToolInput } from "../tool-input.ts";
import { toolUseId } from "./tool-use-id.ts";

export function writeSystem(system: readonly TextPart[]): string | JsonObject[] | undefined {
  const parts = system.filter((part) => !isBlank(part));
  const [first] = parts;
  if (first === undefined) return undefined;
  return parts.length === 1 && first.cache === undefined ? first.text : parts.map(writeTextBlock);
}

/** Turns alternate and the user has the first. What would be an empty block or turn is left out. */
export function writeMessages(messages: readonly ChatMessage[]): JsonObject[] {
  const turns: { role: ChatMessage["role"]; parts: ChatPart[] }[] = [];
  for (const message of messages) {
    const parts = message.parts.filter(isSayable);
    const last = turns.at(-1);
    if (parts.length === 0) continue;
    if (last?.role === message.role) last.parts.push(...parts);
    else turns.push({ role: message.role, parts });
  }
  if (turns[0]?.role !== "user") {
    throw new Inexpressible("messages", "with this model the user must have the first message");
  }
  return turns.map(({ role, parts }) => ({
    role,
    content: role === "user" ? resultsFirst(parts).map(writeUserPart) : parts.map(writeAssistantPart),
  }));
}

// Anthropic takes back only thinking that it signed. What another model thought is not part of what was said.
function isSayable(part: ChatPart): boolean {
  if (part.kind === "text") return !isBlank(part);
  if (part.kind === "reasoning") return part.signature !== undefined || part.redacted !== undefined;
  return true;
}

const resultsFirst = (parts: readonly ChatPart[]): ChatPart[] => [
  ...parts.filter((part) => part.kind === "tool_result"),
  ...parts.filter((part) => part.kind !== "tool_result"),
];

function writeUserPart(part: ChatPart): JsonObject {
  switch (part.kind) {
    case "text":
      return writeTextBlock(part);
    case "image":
      return writeImageBlock(part);
    case "file":
      return writeDocumentBlock(part);
    case "tool_result":
      return writeToolResult(part);
    case "tool_call":
    case "reasoning":
      throw new Inexpressible("messages", `a user's message cannot hold a ${part.kind}`);
  }
}

function writeAssistantPart(part: ChatPart): JsonObject {
  switch (part.kind) {
    case "text":
      return writeTextBlock(part);
    case "reasoning":
      return writeThinking(part);
    case "tool_call":
      return {
        type: "tool_use",
        id: toolUseId(part.id),
        name: part.name,
        input: writeToolInput(part.arguments),
      };
    case "image":
    case "file":
    case "tool_result":
      throw new Inexpressible(
        "messages",
        `with this model an assistant's message cannot hold a ${part.kind}`,
      );
  }
}

const writeThinking = ({ text, signature, redacted }: ReasoningPart): JsonObject =>
  redacted === undefined
    ? { type: "thinking", thinking: text, signature }
    : { type: "redacted_thinking", data: redacted };

const writeToolResult = ({ callId, content, isError }: ToolResultPart): JsonObject =>
  withoutUndefined({
    type: "tool_result",
    tool_use_id: toolUseId(callId),
    content: writeResultContent(content),
    is_error: isError ? true : undefined,
  });

function writeResultContent(content: ToolResultPart["content"]): string | JsonObject[] | undefined {
  const [first] = content;
  if (content.length === 1 && first?.kind === "text" && first.cache === undefined) return first.text;
  const blocks = content.filter((part) => part.kind !== "text" || !isBlank(part)).map(writeUserPart);
  return blocks.length === 0 ? undefined : blocks;
}
