// The blocks that stand in messages, in tool results and (text only) in the system prompt.

import { isJsonObject, type JsonObject } from "../../../platform/json.ts";
import type { FilePart, ImagePart, TextPart } from "../chat.ts";
import { checkAddress } from "../address.ts";
import { Inexpressible } from "../dialect.ts";
import { readDocument, titled } from "../files.ts";
import { isSilent, optionalObject, optionalString, requiredObject, requiredString } from "./members.ts";

export function readTextBlock(block: JsonObject, field: string): TextPart {
  if (!isSilent(block["citations"])) {
    throw new Inexpressible(`${field}.citations`, "citations exist in the Anthropic dialect only");
  }
  const text = requiredString(block["text"], `${field}.text`);
  const control = block["cache_control"];
  if (!isJsonObject(control)) return { kind: "text", text };
  return { kind: "text", text, cache: control["ttl"] === "1h" ? "1h" : "5m" };
}

export const writeTextBlock = ({ text, cache }: TextPart): JsonObject => ({
  type: "text",
  text,
  ...(cache === undefined
    ? {}
    : { cache_control: cache === "1h" ? { type: "ephemeral", ttl: "1h" } : { type: "ephemeral" } }),
});

/** Anthropic refuses blocks without a visible character, which other vendors write freely. */
export const isBlank = (part: TextPart): boolean => part.text.trim() === "";

export function readImageBlock(block: JsonObject, field: string): ImagePart {
  const source = requiredObject(block["source"], `${field}.source`);
  switch (source["type"]) {
    case "base64": {
      const mimeType = requiredString(source["media_type"], `${field}.source.media_type`);
      return {
        kind: "image",
        source: { mimeType, base64: requiredString(source["data"], `${field}.source.data`) },
      };
    }
    case "url": {
      const place = `${field}.source.url`;
      return { kind: "image", source: { url: checkAddress(requiredString(source["url"], place), place) } };
    }
    default:
      throw new Inexpressible(`${field}.source`, "only base64 and url images can be translated");
  }
}

/** A document in the body, or at an address; one of text is its text. */
export function readDocumentBlock(block: JsonObject, field: string): FilePart | TextPart {
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

export const writeDocumentBlock = ({ source, name }: FilePart): JsonObject => ({
  type: "document",
  source:
    "url" in source
      ? { type: "url", url: source.url }
      : { type: "base64", media_type: source.mimeType, data: source.base64 },
  ...(name === undefined ? {} : { title: name }),
});

const imageTypes: ReadonlySet<string> = new Set(["image/jpeg", "image/png", "image/gif", "image/webp"]);

export function writeImageBlock({ source }: ImagePart): JsonObject {
  if ("url" in source) return { type: "image", source: { type: "url", url: source.url } };
  const mediaType = mediaTypeOf(source.mimeType);
  if (!imageTypes.has(mediaType)) {
    throw new Inexpressible("messages", `this model takes no images of type ${source.mimeType}`);
  }
  return { type: "image", source: { type: "base64", media_type: mediaType, data: source.base64 } };
}

/** Others take capitals, and a name for JPEG that is none but is written often. */
function mediaTypeOf(mimeType: string): string {
  const type = mimeType.toLowerCase();
  return type === "image/jpg" ? "image/jpeg" : type;
}
