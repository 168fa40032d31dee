// Gemini 3 and later signs the calls it makes and wants the signature back with the first call of each turn. A
// call made by another model, or carried by a dialect with no place for signatures, has none: Google documents
// a word that stands for "this call was not signed" and skips the check. Gemini 1 and 2 never ask. The word is not base64,
// which some of Google's clients decode strictly, so that in answers a mark of ours stands for it.

import type { JsonObject } from "../../../platform/json.ts";
import type { ReasoningPart } from "../chat.ts";
import { markStart, marked, readMarked } from "../marks.ts";
import { isBeforeGemini3 } from "./gemini-version.ts";

export const unsigned = "skip_thought_signature_validator";

export const readCallSignature = (signature = ""): { readonly signature?: string } =>
  signature === "" || signature === unsigned || signature.startsWith(markStart) ? {} : { signature };

type ThoughtSignature = Pick<ReasoningPart, "signature" | "redacted">;

/** Google signs its calls, not its thoughts: a thought is signed where another vendor signed or sealed it. */
export function readThoughtSignature(signature = ""): ThoughtSignature {
  const read = readMarked(signature);
  if (read?.mark === "anthropic") return { signature: read.token };
  return read?.mark === "redacted" ? { redacted: read.token } : {};
}

export function writeThoughtSignature({ signature, redacted }: ThoughtSignature): string | undefined {
  if (redacted !== undefined) return marked("redacted", redacted);
  return signature === undefined ? undefined : marked("anthropic", signature);
}

export const signFirstCall = (parts: JsonObject[], model: string): JsonObject[] =>
  isBeforeGemini3(model) ? parts : withFirstCall(parts, unsigned);

/** In an answer: later it may be sent to Gemini itself, which asks for a signature. */
export const markFirstCall = (parts: JsonObject[]): JsonObject[] => withFirstCall(parts, marked("unsigned"));

function withFirstCall(parts: JsonObject[], thoughtSignature: string): JsonObject[] {
  const first = parts.findIndex((part) => part["functionCall"] !== undefined);
  return parts.map((part, at) => (at === first ? { thoughtSignature, ...part } : part));
}
