import type { ChatPart } from "../chat.ts";

/** Parts that came in pieces, made whole: a stream breaks them, and a caller sends them back as it got them. */
export function joinParts(pieces: readonly ChatPart[]): ChatPart[] {
  const parts: ChatPart[] = [];
  for (const piece of pieces) {
    const whole = joined(parts.at(-1), piece);
    if (whole !== undefined) parts.pop();
    parts.push(whole ?? piece);
  }
  return parts;
}

/** Text goes on with text; reasoning goes on until it is signed or sealed. Undefined when the piece is a new part. */
export function joined(last: ChatPart | undefined, piece: ChatPart): ChatPart | undefined {
  if (last?.kind === "text" && piece.kind === "text") return { ...piece, text: last.text + piece.text };
  if (last?.kind !== "reasoning" || piece.kind !== "reasoning" || piece.redacted !== undefined)
    return undefined;
  if (last.signature !== undefined || last.redacted !== undefined) return undefined;
  return { ...piece, text: last.text + piece.text };
}
