// What a model gave in the items of a response.

import { isJsonObject, type JsonObject } from "../../platform/json.ts";

/** Whether any of these items holds something of the model's, be it without a letter to count. */
export const holdsOutput = (output: unknown): boolean => Array.isArray(output) && output.some(isOutput);

/** A message may be empty, a tool may have failed, and the tools that there are may only be listed. */
export function isOutput(item: unknown): boolean {
  if (!isJsonObject(item)) return false;
  const { type, status, encrypted_content: sealed } = item;
  if (isImageCall(item)) return Boolean(item["result"]);
  const isCall = typeof type === "string" && type.endsWith("_call") && status !== "failed";
  return isCall || Boolean(sealed) || textBytes(item) > 0;
}

export const isImageCall = (item: unknown): item is JsonObject =>
  isJsonObject(item) && item["type"] === "image_generation_call";

/**
 * The bytes that the model wrote: whatever is called text, arguments or input inside the items of its answer, but for what
 * a search found and the tools that there are.
 */
export function textBytes(value: unknown): number {
  let bytes = 0;
  // A list, because items may be nested deeper than functions can call themselves.
  const left: unknown[] = [value];
  while (left.length > 0) {
    const next = left.pop();
    if (Array.isArray(next)) for (const item of next) left.push(item);
    if (!isJsonObject(next)) continue;
    for (const [name, inner] of Object.entries(next)) {
      if (foreign.has(name)) continue;
      if (typeof inner !== "string") left.push(inner);
      else if (written.has(name)) bytes += Buffer.byteLength(inner);
    }
  }
  return bytes;
}

const written: ReadonlySet<string> = new Set(["text", "refusal", "arguments", "input", "code"]);
const foreign: ReadonlySet<string> = new Set(["results", "tools"]);
