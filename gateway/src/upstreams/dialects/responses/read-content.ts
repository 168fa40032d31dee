// The content of an item: a text, or a list of texts, images and files.

import { isJsonObject, type JsonObject } from "../../../platform/json.ts";
import { checkAddress } from "../address.ts";
import { readCacheControl } from "../cache-control.ts";
import type { Cacheable, FilePart, ImagePart, TextPart } from "../chat.ts";
import { Inexpressible } from "../dialect.ts";
import { readDocument } from "../files.ts";
import { onlyTexts, readDataUrl, readImageUrl, readParts, type ContentPart } from "../openai/content.ts";
import { readText, refuseOthers, requireObject, requireText } from "../openai/members.ts";

export const readContent = (content: unknown, field: string): readonly ContentPart[] =>
  readParts(content, field, readPart);

export const readTextContent = (content: unknown, field: string): readonly TextPart[] =>
  onlyTexts(readContent(content, field), field);

function readPart(value: unknown, field: string): ContentPart {
  const part = requireObject(value, field);
  const { type } = part;
  const known = typeof type === "string" ? partMembers.get(type) : undefined;
  if (known === undefined) {
    throw new Inexpressible(`${field}.type`, `${JSON.stringify(type)} cannot be translated for this model`);
  }
  refuseOthers(part, known, field);
  return { ...readUnmarked(part, field), cache: readMark(part) };
}

/**
 * What a model wrote comes back with what it quoted, how likely each token was, and what OpenAI's own client has read in it
 * (`parsed`).
 */
const partMembers: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries({
    input_text: ["text"],
    output_text: ["text", "annotations", "logprobs", "parsed"],
    refusal: ["refusal"],
    input_image: ["image_url", "detail", "file_id"],
    input_file: ["file_data", "file_id", "file_url", "filename", "detail"],
  }).map(([type, own]) => [
    type,
    new Set<string>(["type", "cache_control", "prompt_cache_breakpoint", ...own]),
  ]),
);

function readUnmarked(part: JsonObject, field: string): ContentPart {
  switch (part["type"]) {
    case "input_image":
      return readImage(part, field);
    case "input_file":
      return readFile(part, field);
    case "refusal":
      return { kind: "text", text: requireText(part["refusal"], `${field}.refusal`) };
    default:
      return { kind: "text", text: requireText(part["text"], `${field}.text`) };
  }
}

/** How far to cache: OpenAI's own mark, and Anthropic's, which callers of Claude write in other dialects, too. */
function readMark({ cache_control: control, prompt_cache_breakpoint: own }: JsonObject): Cacheable["cache"] {
  return isJsonObject(own) && !isJsonObject(control) ? "5m" : readCacheControl(control);
}

function readImage(part: JsonObject, field: string): ImagePart {
  refuseKept(part, field);
  // Other vendors look at images in full, so only "low" would be ignored.
  if (readText(part["detail"], `${field}.detail`) === "low") {
    throw new Inexpressible(`${field}.detail`, '"low" cannot be translated');
  }
  const place = `${field}.image_url`;
  return { kind: "image", source: readImageUrl(requireText(part["image_url"], place), place) };
}

function readFile(part: JsonObject, field: string): FilePart | TextPart {
  refuseKept(part, field);
  const name = readText(part["filename"], `${field}.filename`);
  const url = readText(part["file_url"], `${field}.file_url`);
  if (url !== undefined) {
    return { kind: "file", source: { url: checkAddress(url, `${field}.file_url`) }, name };
  }
  const place = `${field}.file_data`;
  const data = readDataUrl(requireText(part["file_data"], place));
  if (data === undefined) throw new Inexpressible(place, "must be data:<type>;base64,<data>");
  return readDocument({ ...data, name }, place);
}

function refuseKept({ file_id: id }: JsonObject, field: string): void {
  if (readText(id, `${field}.file_id`) === undefined) return;
  throw new Inexpressible(`${field}.file_id`, "lies with OpenAI, where no other vendor can read it");
}
