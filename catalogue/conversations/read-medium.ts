// Whether a text in a conversation is a medium, which the name of its member says: either the medium itself, or the address
// where it lies.

import type { JsonObject } from "../../gateway/src/for-catalogues.ts";
import type { ReadingOptions } from "./findings.ts";
import {
  isImageAddress,
  isSound,
  typeInside,
  typeOfAddressed,
  typeOfData,
  type Place,
} from "./media-type.ts";

export interface Medium {
  /** Its media type in small letters, as far as anything says it; "" where it may be anything. */
  readonly type: string;
  /** Words are bounded by their bytes, an image is one image, and nobody knows how long anything else is. */
  readonly size: "words" | "image" | "any";
  /** How much of the body it takes up; 0 where it lies elsewhere. */
  readonly bytes: number;
  /** The member that callers are told of if it is a recording. */
  readonly member: string;
}

/** Undefined where the text is no medium. */
export function readMedium(text: string, place: Place, options: ReadingOptions): Medium | undefined {
  const read = readers.get(place.name) ?? (isAddress(place.name) ? readAddress : undefined);
  return read?.(text, place, options);
}

/** Whether a text in a member of this name may be a medium; all others are passed over. */
export const mayBeMedium = (name: string): boolean => readers.has(name) || isAddress(name);

type Reader = (text: string, place: Place, options: ReadingOptions) => Medium | undefined;

/** Some vendors take a text or a list of texts for these, others an object that holds the medium or its address. */
const mediaNames: ReadonlySet<string> = new Set([
  "audio",
  "input_audio",
  "video",
  "input_video",
  "document",
  "input_document",
  "file",
  "input_file",
  "pdf",
  "image",
  "input_image",
]);

const readers: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ...[...mediaNames].map((name) => [name, readDataOrAddress] as const),
  ["url", readHeldAddress],
  ["uri", readHeldAddress],
  ["data", readTypedData],
  ["file_data", readFileData],
  ["id", readStoredItem],
]);

/** Every vendor has its own words for where something lies, but they end alike: document_url, fileUri. */
const isAddress = (name: string): boolean => name === "file_id" || /.ur[il]$/i.test(name);

/** The names that vendors are known to use for media, so that none of them can come in other letters. */
export const mediaMembers: readonly string[] = [
  ...readers.keys(),
  "source",
  "file_id",
  "file_url",
  "document_url",
  "image_url",
  "video_url",
  "audio_url",
  "fileUri",
  "file_uri",
];

/** The address of a medium, or a data URL that holds the medium itself. */
function readAddress(text: string, place: Place, options: ReadingOptions): Medium {
  const type = typeOfAddressed(text, place, options);
  const member = memberToTell(place);
  if (isDataUrl(text)) return mediumInBody(text, type, member);
  const isImage = isImageAddress(place) && type.startsWith("image/");
  return { type, size: isImage ? "image" : "any", bytes: 0, member };
}

/** `url` and `uri` are the address of a medium only where the object around them is one. */
function readHeldAddress(text: string, place: Place, options: ReadingOptions): Medium | undefined {
  const { under } = place;
  const isHolder = under === "source" || mediaNames.has(under) || isAddress(under);
  return isHolder ? readAddress(text, place, options) : undefined;
}

/** A vendor that takes either goes by the name of the member, whatever type is given: so not even an image is certain to be one. */
function readDataOrAddress(text: string, place: Place, options: ReadingOptions): Medium {
  const type = typeOfAddressed(text, place, options);
  return { type, size: "any", bytes: text.length, member: memberToTell(place) };
}

function readFileData(text: string, { under }: Place): Medium {
  return mediumInBody(text, typeInside(text) ?? "", under);
}

/** Without a type it is nothing to look at or listen to, but a text that the vendor has sealed. */
function readTypedData(text: string, { under, beside }: Place): Medium | undefined {
  const type = typeOfData(under, beside);
  if (type === undefined && !mediaNames.has(under)) return undefined;
  return mediumInBody(text, type ?? "", under);
}

/** The id of a recording that OpenAI has kept, or of an item that may hold anything. */
function readStoredItem(_id: string, { under, beside }: Place): Medium | undefined {
  const isStored = under === "audio" || (under === "input" && isStoredItem(beside));
  return isStored ? { type: "", size: "any", bytes: 0, member: under } : undefined;
}

/** It says that OpenAI has stored it, or has nothing but its id. */
const isStoredItem = ({ type = null, content }: JsonObject): boolean =>
  type === "item_reference" || (type === null && content === undefined);

function mediumInBody(text: string, type: string, member: string): Medium {
  return { type, size: sizeOf(type), bytes: text.length, member };
}

/** A few bytes can be a hundred empty pages, or an hour of silence; an image is one image. */
function sizeOf(type: string): Medium["size"] {
  if (type.startsWith("text/")) return "words";
  return type.startsWith("image/") ? "image" : "any";
}

const memberToTell = ({ name, under }: Place): string => (isSound(name) ? name : under);

const isDataUrl = (text: string): boolean => /^data:/i.test(text);
