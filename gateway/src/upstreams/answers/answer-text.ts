// The bytes of an answer as text, and the text as JSON, whatever vendors send.

import { isJsonObject, type JsonObject } from "../../platform/json.ts";

/** Undefined where the bytes are no text. */
export function exactTextOf(body: Uint8Array): string | undefined {
  try {
    return exactly.decode(body);
  } catch {
    return undefined;
  }
}

export const roughTextOf = (body: Uint8Array): string => roughly.decode(body);

/** Undefined where the text is no JSON. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text.startsWith(byteOrderMark) ? text.slice(1) : text);
  } catch {
    return undefined;
  }
}

/** Undefined where the text is no JSON, or no object. */
export function objectIn(text: string): JsonObject | undefined {
  const json = jsonIn(text);
  return isJsonObject(json) ? json : undefined;
}

const exactly = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const roughly = new TextDecoder();
const byteOrderMark = "\u{feff}";
