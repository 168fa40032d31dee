// The types of parts and items that are known. Words and tools stand in the body as they are, and images and files are counted
// by their members. What the model gets to read for any other type, only its vendor knows.

import { isJsonObject, type JsonObject } from "../../gateway/src/for-catalogues.ts";
import { addUnseen, type Findings } from "./findings.ts";

/** Called once the members of the part were read; `shownBefore` is what `found.shown` was before that. */
export function countUnknownPart(
  part: JsonObject,
  under: string,
  shownBefore: number,
  found: Findings,
): void {
  const { type } = part;
  if (typeof type !== "string" || !listsOfParts.has(under) || words.has(type) || ofTools.test(type)) return;
  const isShown = found.shown > shownBefore;
  if (showing.has(type) && (isShown || isMadeOfParts(part["source"]))) return;
  addUnseen(found);
  if (!isShown) found.media++;
  if (/audio/i.test(type)) found.recordedIn ??= type;
}

/** Members that have parts or items in them, each with its type. */
const listsOfParts: ReadonlySet<string> = new Set(["content", "system", "output", "input"]);

const words: ReadonlySet<string> = new Set([
  "text",
  "input_text",
  "output_text",
  "summary_text",
  "reasoning_text",
  "refusal",
  "reference",
  "thinking",
  "redacted_thinking",
  "reasoning",
  "message",
  "item_reference",
  "compaction",
  "compaction_trigger",
  "fallback",
  "additional_tools",
]);

/** Calls of tools, what they answered, and which there are. */
const ofTools = /^(?:tool|mcp)_|_(?:use|call|call_output|result|result_error|execution_output)$/;

/** These show something in a member that is known. Where none of those was found, it is in one that is not known here. */
const showing: ReadonlySet<string> = new Set([
  "image",
  "image_url",
  "input_image",
  "computer_screenshot",
  "document",
  "file",
  "input_file",
]);

/** Anthropic's word for a document made of parts, each of which was read by itself. */
const isMadeOfParts = (source: unknown): boolean => isJsonObject(source) && source["type"] === "content";
