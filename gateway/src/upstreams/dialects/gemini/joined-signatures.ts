// Other vendors sign a thought after its last piece. Google has signature and text in one part, and some clients forget a
// signature that has no text beside it, so the newest piece of a thought waits for what comes next.

import type { ChatEvent } from "../chat.ts";
import { isEmptyThought } from "./write-parts.ts";

type Thought = Extract<ChatEvent, { readonly kind: "reasoning" }>;

export function createSignatureJoiner(): {
  readonly join: (event: ChatEvent) => readonly ChatEvent[];
  /** What still waits when no more events come. */
  readonly rest: () => readonly ChatEvent[];
} {
  let waiting: Thought | undefined;

  const rest = (): readonly ChatEvent[] => {
    const taken = waiting === undefined ? [] : [waiting];
    waiting = undefined;
    return taken;
  };

  return {
    join: (event) => {
      if (event.kind !== "reasoning") return waiting === undefined ? [event] : [...rest(), event];
      if (isEmptyThought(event)) return [];
      if (waiting !== undefined && signs(event, waiting)) {
        const signed = { ...event, text: waiting.text + event.text };
        waiting = undefined;
        return [signed];
      }
      const before = rest();
      if (event.signature !== undefined || event.redacted !== undefined) return [...before, event];
      waiting = event;
      return before;
    },
    rest,
  };
}

const signs = ({ index, signature }: Thought, thought: Thought): boolean =>
  signature !== undefined && index === thought.index;
