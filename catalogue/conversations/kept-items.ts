import type { JsonObject } from "../../gateway/src/for-catalogues.ts";

/**
 * Items of OpenAI's Responses that a caller gives back by name: OpenAI has kept what was thought, drawn or found, and reads
 * it again. With all of it in the item, nothing is read from elsewhere.
 */
export function isKeptByVendor(type: string, item: JsonObject): boolean {
  const whole = wholeIn.get(type);
  return whole !== undefined && (whole === null || typeof item[whole] !== "string");
}

/** The member that has the whole of such an item in it; null where no member has. */
const wholeIn: ReadonlyMap<string, string | null> = new Map([
  ["reasoning", "encrypted_content"],
  ["compaction", "encrypted_content"],
  ["image_generation_call", "result"],
  ["code_interpreter_call", null],
  ["file_search_call", null],
  ["web_search_call", null],
]);
