// Where thoughts stand among the parts of an answer, who did not ask for them reads the first part as the answer.

import type { ChatEvent, ChatPart } from "./chat.ts";

/**
 * Leaves thoughts out of an answer, whole or streamed, but those before a call: some vendors want them back with its
 * result. What is signed keeps its place, for it is refused in another; the rest waits until the call is made.
 */
export function createThoughtSieve<Piece extends ChatPart | ChatEvent>({
  mayCall,
}: {
  readonly mayCall: boolean;
}): (piece: Piece) => readonly Piece[] {
  let held: Piece[] = [];

  const release = (): readonly Piece[] => {
    const released = held;
    held = [];
    return released;
  };

  return (piece) => {
    switch (piece.kind) {
      case "reasoning":
        if (mayCall) held.push(piece);
        return [];
      case "tool_call":
        return [...release(), piece];
      case "text":
      case "image":
        return held.some(isSigned) ? [...release(), piece] : [piece];
      default:
        return [piece];
    }
  };
}

const isSigned = (piece: ChatPart | ChatEvent): boolean =>
  piece.kind === "reasoning" && (piece.signature !== undefined || piece.redacted !== undefined);
