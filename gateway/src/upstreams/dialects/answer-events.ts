import type { ChatAnswer, ChatEvent, ChatPart } from "./chat.ts";

/** A whole answer as the events that a stream would have said it in; some dialects tell at the start what was read. */
export const eventsOf = ({ id, model, parts, usage, stop, stopSequence }: ChatAnswer): ChatEvent[] => [
  { kind: "start", id, model },
  ...(usage ? [{ kind: "usage", usage } as const] : []),
  ...parts.flatMap((part, index) => [...partEvents(part, index), { kind: "part_end", index } as const]),
  { kind: "stop", reason: stop, stopSequence },
];

function partEvents(part: ChatPart, index: number): ChatEvent[] {
  switch (part.kind) {
    case "text":
      return [{ kind: "text", index, text: part.text }];
    case "reasoning":
    case "image":
      return [{ ...part, index }];
    case "tool_call": {
      const { kind, id, name, signature } = part;
      return [
        { kind, index, id, name, ...(signature === undefined ? {} : { signature }) },
        { kind: "tool_arguments", index, text: part.arguments },
      ];
    }
    // A model neither answers its own calls nor shows files.
    case "file":
    case "tool_result":
      return [];
  }
}
