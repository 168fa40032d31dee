// What is said in a conversation: messages and their parts, and the items of OpenAI's Responses.

import { DecidingNames, isJsonObject, type JsonObject } from "../../gateway/src/for-catalogues.ts";
import type { Findings, ReadingOptions } from "./findings.ts";
import { isKeptByVendor } from "./kept-items.ts";
import { countDrawing, countMedia, countMedium } from "./media.ts";
import { countUnknownPart } from "./part-types.ts";
import { mayBeMedium, mediaMembers } from "./read-medium.ts";
import { countFound, readTool, readTools } from "./tools.ts";

/**
 * Looks into lists and objects, however deep. Of the texts it looks only at those whose member may hold a medium, so a plain
 * conversation costs little. `under` is the member that the part stands in.
 */
export function readParts(part: unknown, under: string, found: Findings, options: ReadingOptions): void {
  if (Array.isArray(part)) {
    for (const element of part) if (typeof element === "object") readParts(element, under, found, options);
    return;
  }
  if (!isJsonObject(part)) return;
  const shownBefore = found.shown;
  for (const name in part) {
    if (options.comparesNames) partNames.check(name);
    const member = part[name];
    if (typeof member === "string") {
      if (name === "type") readItemType(member, part, under, found, options);
      else if (mayBeMedium(name)) countMedium(member, { name, under, beside: part }, found, options);
      continue;
    }
    if (typeof member !== "object" || member === null || opaqueMembers.has(name)) continue;
    if (calls.has(name)) found.hasTools = true;
    if (name === "tools") readTools(member, `${under}.tools`, found, options);
    else if (isToolDefinition(name, part)) readTool(member, `${under}.definition`, found, options);
    else {
      if (Array.isArray(member) && mayBeMedium(name)) {
        countMedia(member, { name, under, beside: part }, found, options);
      }
      readParts(member, isImageSource(name, part) ? "image_url" : name, found, options);
    }
  }
  countUnknownPart(part, under, shownBefore, found);
}

const partNames = new DecidingNames([
  ...mediaMembers,
  "type",
  "tools",
  "definition",
  "media_type",
  "mimeType",
  "mime_type",
  "format",
]);

/**
 * Calls of tools in what was said, by member or by type. Where a request brings no tools with them, some vendors are told of
 * those that were called, and tell the model of tools all the same.
 */
const calls: ReadonlySet<string> = new Set([
  "tool_calls",
  "functionCall",
  "function_call",
  "tool_use",
  "custom_tool_call",
]);

/** What a tool was given or answered, quotations, the caller's own notes: no vendor acts on the names in there. */
const opaqueMembers: ReadonlySet<string> = new Set([
  "input",
  "args",
  "arguments",
  "env",
  "response",
  "annotations",
  "citations",
  "attributes",
  "metadata",
  "partMetadata",
  "part_metadata",
]);

const isToolDefinition = (name: string, { type }: JsonObject): boolean =>
  name === "definition" && type === "tool_definition";

/** Anthropic puts images and documents into a `source`; an image is one image, but a document may have any number of pages. */
const isImageSource = (name: string, { type }: JsonObject): boolean => name === "source" && type === "image";

/** Items of `input` have types, and for some of them OpenAI reads more than the item holds. */
function readItemType(
  type: string,
  item: JsonObject,
  under: string,
  found: Findings,
  { mayBeNative, mayBeTranslated }: ReadingOptions,
): void {
  if (calls.has(type)) found.hasTools = true;
  if (under !== "input") return;
  if (type === "compaction_trigger") found.isSummedUp = true;
  else if (type === "tool_search_output" && mayBeTranslated) countFound(item["tools"], found);
  else if (isKeptByVendor(type, item)) found.unbounded ||= mayBeNative;
  else if (type === "image_generation_call") countDrawing(String(item["result"]), found);
}
