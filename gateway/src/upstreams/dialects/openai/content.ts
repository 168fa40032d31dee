// The content of a message: a text, or a list of texts, images and files.

import { isJsonObject, objectOrEmpty, type JsonObject } from "../../../platform/json.ts";
import type { Cacheable, FilePart, ImagePart, TextPart } from "../chat.ts";
import { checkAddress } from "../address.ts";
import { readCacheControl, writeCacheControl } from "../cache-control.ts";
import { Inexpressible } from "../dialect.ts";
import { readDocument } from "../files.ts";
import { readText, refuseOthers, requireObject, requireText } from "./members.ts";

export type ContentPart = TextPart | ImagePart | FilePart;

export const readContent = (content: unknown, field: string): readonly ContentPart[] =>
  readParts(content, field, readPart);

export const readTextContent = (content: unknown, field: string): readonly TextPart[] =>
  onlyTexts(readContent(content, field), field);

/** Empty texts say nothing and some vendors refuse them, so they are left out. */
export function readParts(
  content: unknown,
  field: string,
  read: (part: unknown, field: string) => ContentPart,
): readonly ContentPart[] {
  if (content === undefined || content === null) return [];
  if (typeof content === "string") return content === "" ? [] : [{ kind: "text", text: content }];
  if (!Array.isArray(content)) throw new Inexpressible(field, "must be a text or a list of parts");
  return content
    .map((part: unknown, at) => read(part, `${field}[${at}]`))
    .filter((part) => part.kind !== "text" || part.text !== "");
}

export const onlyTexts = (parts: readonly ContentPart[], field: string): readonly TextPart[] =>
  parts.map((part) => {
    if (part.kind === "text") return part;
    throw new Inexpressible(field, "may hold text only, neither images nor files");
  });

/**
 * Texts alone are one text: DeepSeek and Groq refuse a list where there is nothing but text in it. What is marked to be cached
 * stays a part, which alone can be marked.
 */
export const writeContent = (parts: readonly ContentPart[]): string | readonly JsonObject[] =>
  parts.every(isPlainText) ? parts.map(({ text }) => text).join("\n\n") : parts.map(writePart);

const isPlainText = (part: ContentPart): part is TextPart => part.kind === "text" && part.cache === undefined;

const writePart = (part: ContentPart): JsonObject => ({
  ...writeUnmarked(part),
  ...writeCacheControl(part),
});

function writeUnmarked(part: ContentPart): JsonObject {
  if (part.kind === "text") return { type: "text", text: part.text };
  return part.kind === "image" ? writeImage(part) : writeFile(part);
}

/** OpenAI wants a file to have a name. */
function writeFile({ source, name }: FilePart): JsonObject {
  if ("url" in source) {
    throw new Inexpressible("messages", "with this model a document must be in the body, not at an address");
  }
  const file_data = `data:${source.mimeType};base64,${source.base64}`;
  return { type: "file", file: { filename: name ?? "document.pdf", file_data } };
}

export const writeImage = ({ source }: Pick<ImagePart, "source">): JsonObject => ({
  type: "image_url",
  image_url: { url: "url" in source ? source.url : `data:${source.mimeType};base64,${source.base64}` },
});

function readPart(value: unknown, field: string): ContentPart {
  const part = requireObject(value, field);
  return { ...readUnmarked(part, field), cache: readMark(part) };
}

function readUnmarked(part: JsonObject, field: string): ContentPart {
  switch (part["type"]) {
    case "text":
      return { kind: "text", text: requireText(part["text"], `${field}.text`) };
    case "refusal":
      return { kind: "text", text: requireText(part["refusal"], `${field}.refusal`) };
    case "image_url":
      return readImage(part["image_url"], `${field}.image_url`);
    case "file":
      return readFile(part["file"], `${field}.file`);
    default:
      throw new Inexpressible(`${field}.type`, `${JSON.stringify(part["type"])} cannot be translated`);
  }
}

/** Refuses what parts of the caller's say beyond what is read of them. What is no part is told elsewhere. */
export function checkParts(content: unknown, field: string): void {
  if (!Array.isArray(content)) return;
  for (const [at, part] of content.entries()) {
    const type: unknown = objectOrEmpty(part)["type"];
    const known = typeof type === "string" ? partMembers.get(type) : undefined;
    if (!isJsonObject(part) || typeof type !== "string" || !known) continue;
    refuseOthers(part, known.own, `${field}[${at}]`);
    const within = part[type];
    if (isJsonObject(within)) refuseOthers(within, known.within, `${field}[${at}].${type}`);
  }
}

/** What each part says stands in a member of its type's name. */
const partMembers = new Map(
  Object.entries({
    text: [],
    refusal: [],
    image_url: ["url", "detail"],
    file: ["file_id", "file_data", "filename"],
  }).map(([type, within]) => [
    type,
    {
      own: new Set<string>(["type", type, "cache_control", "prompt_cache_breakpoint"]),
      within: new Set<string>(within),
    },
  ]),
);

/** How far to cache: OpenAI's own mark, and Anthropic's, which callers of other vendors' models set by convention. */
function readMark({
  cache_control: control,
  prompt_cache_breakpoint: breakpoint,
}: JsonObject): Cacheable["cache"] {
  if (isJsonObject(breakpoint) && !isJsonObject(control)) return "5m";
  return readCacheControl(control);
}

function readImage(value: unknown, field: string): ImagePart {
  const image = requireObject(value, field);
  // Other vendors look at images in full, so "auto" and "high" are what they do and only "low" would be ignored.
  if (readText(image["detail"], `${field}.detail`) === "low") {
    throw new Inexpressible(`${field}.detail`, '"low" cannot be translated');
  }
  return { kind: "image", source: readImageUrl(requireText(image["url"], `${field}.url`), `${field}.url`) };
}

function readFile(value: unknown, field: string): FilePart | TextPart {
  const file = requireObject(value, field);
  if (readText(file["file_id"], `${field}.file_id`) !== undefined) {
    throw new Inexpressible(`${field}.file_id`, "lies with OpenAI, where no other vendor can read it");
  }
  const place = `${field}.file_data`;
  const name = readText(file["filename"], `${field}.filename`);
  const data = readDataUrl(requireText(file["file_data"], place));
  if (data === undefined) throw new Inexpressible(place, "must be data:<type>;base64,<data>");
  return readDocument({ ...data, name }, place);
}

export function readImageUrl(url: string, field: string): ImagePart["source"] {
  if (/^https?:/i.test(url)) return { url: checkAddress(url, field) };
  const data = readDataUrl(url);
  if (data !== undefined) return data;
  throw new Inexpressible(field, "must be an http(s) address or data:<type>;base64,<data>");
}

export function readDataUrl(url: string): { readonly mimeType: string; readonly base64: string } | undefined {
  // Only the head is matched: the data may be megabytes.
  const comma = url.indexOf(",");
  const head = /^data:([^;,]+)(?:;[^,]*)?;base64$/i.exec(url.slice(0, Math.max(comma, 0)));
  const mimeType = head?.[1];
  return mimeType === undefined ? undefined : { mimeType, base64: url.slice(comma + 1) };
}
