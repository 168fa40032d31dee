import type { JsonObject } from "../../gateway/src/for-catalogues.ts";

/**
 * Whether an item of OpenAI's Responses only names what was thought, drawn or found: OpenAI has kept that, and reads it again.
 * An item with all of it inside has nothing read from elsewhere.
 */
export function isKeptByVendor(type: string, item: JsonObject): boolean {
  const whole = wholeIn.get(type);
  return whole !== undefined && (whole === null || typeof item[whole] !== "string");
}

/** The member that holds the whole of such an item; null where none does. */
const wholeIn: ReadonlyMap<string, string | null> = new Map([
  ["reasoning", "encrypted_content"],
  ["compaction", "encrypted_content"],
  ["image_generation_call", "result"],
  ["code_interpreter_call", null],
  ["file_search_call", null],
  ["web_search_call", null],
]);
