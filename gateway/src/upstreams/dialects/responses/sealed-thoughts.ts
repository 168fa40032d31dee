// Here a thought is an item of its own, and what only its vendor understands of it stands in `encrypted_content`, which clients
// send back with the item. Whole thoughts stand in there too, under a mark: a summary is shown only to who asks for one, and
// an item without such a content counts as one that OpenAI has kept.

import { isJsonObject, type JsonObject } from "../../../platform/json.ts";
import { objectIn } from "../../answers/answer-text.ts";
import type { ReasoningPart } from "../chat.ts";
import { marked, readMarked } from "../marks.ts";

export type Thought = Pick<ReasoningPart, "text" | "signature" | "redacted">;

export function sealThought({ text, signature, redacted }: Thought): string {
  if (redacted !== undefined) return marked("redacted", redacted);
  return signature === undefined
    ? marked("unsigned", text)
    : marked("anthropic", JSON.stringify({ text, signature }));
}

/** A call has no place for what its vendor signed it with; an empty thought before it has. */
export const sealForNextCall = (signature: string): string => marked("gemini", signature);

type Unsealed = ReasoningPart | { readonly kind: "for next call"; readonly signature: string };

/** Undefined for what was not sealed here: only OpenAI can read it. */
export function unseal(sealed: string): Unsealed | undefined {
  const read = readMarked(sealed);
  switch (read?.mark) {
    case undefined:
    case "openai":
      return undefined;
    case "redacted":
      return { kind: "reasoning", text: "", redacted: read.token };
    case "unsigned":
      return { kind: "reasoning", text: read.token };
    case "gemini":
      return { kind: "for next call", signature: read.token };
    case "anthropic":
      return signedThought(read.token);
  }
}

/**
 * A thought of OpenAI's, as callers of other dialects keep it. It is sealed together with the id of its item, and can be read
 * in an item of that id alone.
 */
export const markOpenAis = ({ id, encrypted_content: sealed }: JsonObject): string =>
  marked("openai", JSON.stringify({ id, sealed }));

/** The item that OpenAI gets back of a thought; undefined for what is not its own. */
export function openAisIn({ redacted }: Pick<ReasoningPart, "redacted">): JsonObject | undefined {
  const read = readMarked(redacted ?? "");
  if (read?.mark !== "openai") return undefined;
  const { id, sealed } = objectIn(read.token) ?? {};
  return typeof sealed === "string"
    ? { type: "reasoning", ...(typeof id === "string" && { id }), summary: [], encrypted_content: sealed }
    : undefined;
}

/** Nobody but a caller who wrote it anew can have spoilt it. */
function signedThought(token: string): ReasoningPart | undefined {
  try {
    const signed: unknown = JSON.parse(token);
    if (!isJsonObject(signed)) return undefined;
    const { text, signature } = signed;
    return typeof text === "string" && typeof signature === "string"
      ? { kind: "reasoning", text, signature }
      : undefined;
  } catch {
    return undefined;
  }
}
