import type { ChatPart, ChatRequest, TextPart } from "../chat.ts";

/**
 * OpenAI caches up to no more of them in one request, but its callers leave those of earlier turns where they are.
 * Anthropic refuses more.
 */
const marksMax = 4;

type Said = Pick<ChatRequest, "system" | "messages">;

/** The conversation with the newest of its marks to cache: each stands for all that is before it. */
export function withNewestMarks(said: Said): Said {
  const { system, messages } = said;
  const marked: TextPart[] = [];
  const note = (part: ChatPart): void => {
    if (part.kind === "text" && part.cache !== undefined) marked.push(part);
    if (part.kind === "tool_result") part.content.forEach(note);
  };
  system.forEach(note);
  for (const { parts } of messages) parts.forEach(note);
  if (marked.length <= marksMax) return said;
  const kept = new Set(marked.slice(-marksMax));
  const unmark = <Part extends ChatPart>(part: Part): Part | TextPart =>
    part.kind === "text" && !kept.has(part) ? { kind: "text", text: part.text } : part;
  const unmarkWithin = (part: ChatPart): ChatPart =>
    part.kind === "tool_result" ? { ...part, content: part.content.map(unmark) } : unmark(part);
  return {
    system: system.map(unmark),
    messages: messages.map((message) => ({ ...message, parts: message.parts.map(unmarkWithin) })),
  };
}
