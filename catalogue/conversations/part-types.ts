// The parts of a conversation by their type, in whichever dialect: words and tools stand in the body as they are, and images
// and files are shown by members that are looked at. Of any other type nobody knows from here what its vendor reads for it.

import type { JsonObject } from "../../gateway/src/operation/define-operation.ts";
import type { FoundMedia } from "./media.ts";

/** Where a list has parts or items, each with its type. */
const partsOf: ReadonlySet<string> = new Set(["content", "system", "output", "input"]);

/** To be asked after the members of a part were looked at, with how much had been shown before them. */
export function lookAtPart(part: JsonObject, under: string, shownBefore: number, found: FoundMedia): void {
  const { type } = part;
  if (typeof type !== "string" || !partsOf.has(under) || words.has(type) || ofTools.test(type)) return;
  const isShown = found.shown > shownBefore;
  if (shows.has(type) && (isShown || isMadeOfParts(part["source"]))) return;
  found.unbounded = true;
  found.mayBeHeard = true;
  if (!isShown) found.media++;
  if (/audio/i.test(type)) found.recordedIn ??= type;
}

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

/** As much as their members show; where these show nothing, a vendor has words for it that nobody knows here. */
const shows: ReadonlySet<string> = new Set([
  "image",
  "image_url",
  "input_image",
  "computer_screenshot",
  "document",
  "file",
  "input_file",
]);

/** Anthropic's word for a document whose own parts are looked at one by one. */
const isMadeOfParts = (source: unknown): boolean =>
  typeof source === "object" && source !== null && "type" in source && source.type === "content";
