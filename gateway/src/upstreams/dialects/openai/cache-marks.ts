import { isSaid } from "../added-instructions.ts";
import type { Cacheable, ChatPart, ChatRequest } from "../chat.ts";
import type { ContentPart } from "./content.ts";

/**
 * OpenAI caches up to no more of them in one request, but its callers leave those of earlier turns where they are.
 * Anthropic refuses more.
 */
const marksMax = 4;

type Said = Pick<ChatRequest, "tools" | "system" | "messages">;

/** The request with the newest of its marks to cache: each stands for all that is before it. */
export function withNewestMarks(said: Said): Said {
  const marked = markedIn(said);
  return marked.length <= marksMax ? said : withMarksOf(said, marked.slice(-marksMax));
}

export const withoutMarks = <Request extends Said>(request: Request): Request =>
  markedIn(request).length === 0 ? request : { ...request, ...withMarksOf(request, []) };

/** All that is marked, in the order in which a prompt holds it. */
function markedIn({ tools, system, messages }: Said): readonly Cacheable[] {
  const shown = (part: ChatPart): readonly ChatPart[] =>
    part.kind === "tool_result" ? part.content : [part];
  const parts = messages.flatMap((message) => message.parts.flatMap(shown));
  const cacheable: readonly Cacheable[] = [...tools, ...system, ...parts.filter(isCacheable)];
  return cacheable.filter(({ cache }) => cache !== undefined);
}

const isCacheable = (part: ChatPart): part is ContentPart =>
  part.kind === "text" || part.kind === "image" || part.kind === "file";

function withMarksOf({ tools, system, messages }: Said, marked: readonly Cacheable[]): Said {
  const kept = new Set(marked);
  const unmark = <Part extends Cacheable>(part: Part): Part =>
    kept.has(part) ? part : { ...part, cache: undefined };
  const unmarkWithin = (part: ChatPart): ChatPart => {
    if (part.kind === "tool_result") return { ...part, content: part.content.map(unmark) };
    return isCacheable(part) ? unmark(part) : part;
  };
  return {
    tools: tools.map(unmark),
    system: system.map(unmark),
    messages: messages.map((message) =>
      isSaid(message)
        ? { ...message, parts: message.parts.map(unmarkWithin) }
        : { ...message, parts: message.parts.map(unmark) },
    ),
  };
}
