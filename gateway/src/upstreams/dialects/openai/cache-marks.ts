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
  const marked = [...system, ...messages.flatMap(({ parts }) => parts)].flatMap(textsOf).filter(isMarked);
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

const textsOf = (part: ChatPart): readonly TextPart[] => {
  if (part.kind === "text") return [part];
  return part.kind === "tool_result" ? part.content.filter((within) => within.kind === "text") : [];
};

const isMarked = ({ cache }: TextPart): boolean => cache !== undefined;
