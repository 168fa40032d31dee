// The blocks that stand in messages, in tool results and (text only) in the system prompt.

import type { JsonObject } from "../../../platform/json.ts";
import type { FilePart, ImagePart, TextPart } from "../chat.ts";
import { checkAddress } from "../address.ts";
import { readCacheControl, writeCacheControl } from "../cache-control.ts";
import { Inexpressible } from "../dialect.ts";
import { readDocument, titled } from "../files.ts";
import { isSilent, optionalObject, optionalString, requiredObject, requiredString } from "./members.ts";

export function readTextBlock(block: JsonObject, field: string): TextPart {
  if (!isSilent(block["citations"])) {
    throw new Inexpressible(`${field}.citations`, "citations exist in the Anthropic dialect only");
  }
  const text = requiredString(block["text"], `${field}.text`);
  return { kind: "text", text, cache: readCacheControl(block["cache_control"]) };
}

export const writeTextBlock = (part: TextPart): JsonObject => ({
  type: "text",
  text: part.text,
  ...writeCacheControl(part),
});

/** Anthropic refuses blocks without a visible character, which other vendors write freely. */
export const isBlank = (part: TextPart): boolean => part.text.trim() === "";

export const readImageBlock = (block: JsonObject, field: string): ImagePart => ({
  kind: "image",
  source: readImageSource(requiredObject(block["source"], `${field}.source`), `${field}.source`),
  cache: readCacheControl(block["cache_control"]),
});

function readImageSource(source: JsonObject, field: string): ImagePart["source"] {
  switch (source["type"]) {
    case "base64": {
      const mimeType = requiredString(source["media_type"], `${field}.media_type`);
      return { mimeType, base64: requiredString(source["data"], `${field}.data`) };
    }
    case "url":
      return { url: checkAddress(requiredString(source["url"], `${field}.url`), `${field}.url`) };
    default:
      throw new Inexpressible(field, "only base64 and url images can be translated");
  }
}

export const readDocumentBlock = (block: JsonObject, field: string): FilePart | TextPart => ({
  ...readUnmarkedDocument(block, field),
  cache: readCacheControl(block["cache_control"]),
});

/** A document in the body, or at an address; one of text is its text. */
function readUnmarkedDocument(block: JsonObject, field: string): FilePart | TextPart {
  const citations = optionalObject(block["citations"], `${field}.citations`);
  if (citations?.["enabled"] === true) {
    throw new Inexpressible(`${field}.citations`, "citations exist in the Anthropic dialect only");
  }
  const name = optionalString(block["title"], `${field}.title`);
  const place = `${field}.source`;
  const source = requiredObject(block["source"], place);
  switch (source["type"]) {
    case "base64": {
      const mimeType = requiredString(source["media_type"], `${place}.media_type`);
      return readDocument({ mimeType, base64: requiredString(source["data"], `${place}.data`), name }, place);
    }
    case "text":
      return { kind: "text", text: titled(name, requiredString(source["data"], `${place}.data`)) };
    case "url": {
      const url = checkAddress(requiredString(source["url"], `${place}.url`), `${place}.url`);
      return { kind: "file", source: { url }, name };
    }
    default:
      throw new Inexpressible(place, "only base64, text and url documents can be translated");
  }
}

export const writeDocumentBlock = ({ source, name, cache }: FilePart): JsonObject => ({
  type: "document",
  source:
    "url" in source
      ? { type: "url", url: source.url }
      : { type: "base64", media_type: source.mimeType, data: source.base64 },
  ...(name === undefined ? {} : { title: name }),
  ...writeCacheControl({ cache }),
});

const imageTypes: ReadonlySet<string> = new Set(["image/jpeg", "image/png", "image/gif", "image/webp"]);

export const writeImageBlock = ({ source, cache }: ImagePart): JsonObject => ({
  type: "image",
  source: writeImageSource(source),
  ...writeCacheControl({ cache }),
});

function writeImageSource(source: ImagePart["source"]): JsonObject {
  if ("url" in source) return { type: "url", url: source.url };
  const mediaType = mediaTypeOf(source.mimeType);
  if (!imageTypes.has(mediaType)) {
    throw new Inexpressible("messages", `this model takes no images of type ${source.mimeType}`);
  }
  return { type: "base64", media_type: mediaType, data: source.base64 };
}

/** Others take capitals, and a name for JPEG that is none but is written often. */
function mediaTypeOf(mimeType: string): string {
  const type = mimeType.toLowerCase();
  return type === "image/jpg" ? "image/jpeg" : type;
}
