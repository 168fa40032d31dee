// Here a thought is an item of its own, and what only its vendor understands of it stands in `encrypted_content`, which clients
// send back with the item. Whole thoughts stand in there too, under a mark: a summary is shown only to who asks for one, and
// an item without such a content counts as one that OpenAI has kept.

import { isJsonObject } from "../../../platform/json.ts";
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

/** A thought of OpenAI's, as callers of other dialects keep it. */
export const markOpenAis = (sealed: string): string => marked("openai", sealed);

/** What OpenAI gets back of a thought; undefined for what is not its own. */
export function openAisIn({ redacted }: Pick<ReasoningPart, "redacted">): string | undefined {
  const read = readMarked(redacted ?? "");
  return read?.mark === "openai" ? read.token : undefined;
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
