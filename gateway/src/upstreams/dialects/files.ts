// Documents inside of a conversation. All three vendors read PDF; what is plain text becomes text.

import type { FilePart, TextPart } from "./chat.ts";
import { Inexpressible } from "./dialect.ts";

export const pdf = "application/pdf";

/** Whether a media type is that of a document, and not of an image, a recording or a film. */
export const isDocument = (mimeType: string): boolean => mimeType === pdf || mimeType.startsWith("text/");

export function readDocument(
  document: { readonly mimeType: string; readonly base64: string; readonly name: string | undefined },
  field: string,
): FilePart | TextPart {
  const { base64, name } = document;
  const mimeType = document.mimeType.toLowerCase();
  if (mimeType === pdf) return { kind: "file", source: { mimeType, base64 }, name };
  if (!isDocument(mimeType)) throw new Inexpressible(field, "only PDF and text can be translated");
  return { kind: "text", text: titled(name, Buffer.from(base64, "base64").toString()) };
}

/** A text has no place for its name but its beginning. */
export const titled = (name: string | undefined, text: string): string =>
  name === undefined || name === "" ? text : `${name}\n\n${text}`;
