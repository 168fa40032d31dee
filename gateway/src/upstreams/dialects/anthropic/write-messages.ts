import type { JsonObject } from "../../../platform/json.ts";
import { instructionsFirst, isSaid } from "../added-instructions.ts";
import type { ChatPart, ChatRequest, ReasoningPart, TextPart, ToolResultPart } from "../chat.ts";
import { Inexpressible } from "../dialect.ts";
import { withoutUndefined } from "../without-undefined.ts";
import { isClaudeSince } from "./claude-version.ts";
import { isBlank, writeDocumentBlock, writeImageBlock, writeTextBlock } from "./content-blocks.ts";
import { writeToolInput } from "../tool-input.ts";
import { isMarked } from "../marks.ts";
import { toolUseId } from "./tool-use-id.ts";

interface Turn {
  readonly role: "user" | "assistant" | "system";
  readonly parts: ChatPart[];
}

/** Instructions stand where they were added if the model takes them there, else after the first ones. */
export function writeConversation(request: Pick<ChatRequest, "model" | "system" | "messages">): {
  readonly system: string | JsonObject[] | undefined;
  readonly messages: JsonObject[];
} {
  const { system, messages } = takesAddedInstructions(request.model) ? request : instructionsFirst(request);
  const { turns, misplaced } = turnsOf(messages);
  if (turns[0]?.role !== "user") {
    throw new Inexpressible("messages", "with this model the user must have the first message");
  }
  return { system: writeSystem([...system, ...misplaced]), messages: turns.map(writeTurn) };
}

/** The greater models since Opus 4.8, the others since 5.5; Sonnet 5 refuses the role, as all before them do. */
const takesAddedInstructions = (model: string): boolean =>
  isClaudeSince(model, /opus|fable|mythos/.test(model) ? { major: 4, minor: 8 } : { major: 5, minor: 5 });

function writeSystem(system: readonly TextPart[]): string | JsonObject[] | undefined {
  const parts = system.filter((part) => !isBlank(part));
  const [first] = parts;
  if (first === undefined) return undefined;
  return parts.length === 1 && first.cache === undefined ? first.text : parts.map(writeTextBlock);
}

/**
 * Turns alternate; what would be an empty block or turn is left out. Anthropic takes added instructions behind the last word
 * of a user's turn alone, in one message. `misplaced` are those that no user's word stands before.
 */
function turnsOf(messages: ChatRequest["messages"]): {
  readonly turns: readonly Turn[];
  readonly misplaced: readonly TextPart[];
} {
  const turns: Turn[] = [];
  const misplaced: TextPart[] = [];
  const waiting: TextPart[] = [];
  const placeWaiting = (): void => {
    const added = waiting.splice(0);
    if (added.length === 0) return;
    if (turns.at(-1)?.role === "user") turns.push({ role: "system", parts: added });
    else misplaced.push(...added);
  };

  for (const message of messages) {
    if (!isSaid(message)) {
      waiting.push(...message.parts.filter((part) => !isBlank(part)));
      continue;
    }
    const parts = message.parts.filter(isSayable);
    if (parts.length === 0) continue;
    if (message.role === "assistant") placeWaiting();
    const last = turns.at(-1);
    if (last?.role === message.role) last.parts.push(...parts);
    else turns.push({ role: message.role, parts });
  }
  placeWaiting();
  return { turns, misplaced };
}

const writeTurn = ({ role, parts }: Turn): JsonObject => ({
  role,
  content: role === "assistant" ? parts.map(writeAssistantPart) : resultsFirst(parts).map(writeUserPart),
});

// Anthropic takes back only thinking that it signed. What another model thought is not part of what was said.
function isSayable(part: ChatPart): boolean {
  if (part.kind === "text") return !isBlank(part);
  // What OpenAI sealed, Anthropic refuses.
  if (part.kind === "reasoning")
    return part.signature !== undefined || (part.redacted !== undefined && !isMarked(part.redacted));
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
