// Gemini 3 and later signs the calls it makes and wants the signature back with the first call of each turn. A
// call made by another model, or carried by a dialect with no place for signatures, has none: Google documents
// a word that stands for "this call was not signed" and skips the check. Gemini 1 and 2 never ask.

import type { JsonObject } from "../../../platform/json.ts";
import { isBeforeGemini3 } from "./gemini-version.ts";

const unsigned = "skip_thought_signature_validator";

export const readSignature = (signature: string | undefined): { readonly signature?: string } =>
  signature === undefined || signature === "" || signature === unsigned ? {} : { signature };

export function signFirstCall(parts: JsonObject[], model: string): JsonObject[] {
  if (isBeforeGemini3(model)) return parts;
  const first = parts.findIndex((part) => part["functionCall"] !== undefined);
  return parts.map((part, at) => (at === first ? { thoughtSignature: unsigned, ...part } : part));
}
