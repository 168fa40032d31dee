// Images, recordings, films and files in a conversation. The name of a text's member says whether the text is one: all of
// it, or the address where it lies.

import { typeByName, type JsonObject } from "../../gateway/src/for-catalogues.ts";
import type { Findings, ReadingOptions } from "./findings.ts";

/** Where a text stands: in the member `name` of the object `beside`, which is itself in the member `under`. */
interface Place {
  readonly name: string;
  readonly under: string;
  readonly beside: JsonObject;
}

/** Adds the text up if it is a medium. Whoever calls has asked `mayBeMedium`, which spares most texts a place. */
export function countMedium(text: string, place: Place, found: Findings, options: ReadingOptions): void {
  const medium = readerOf(place.name)?.(text, place, options);
  if (medium) addMedium(medium, found);
}

/** Some vendors take a list where others take one address, and a film as a list of its frames. */
export function countMedia(
  texts: readonly unknown[],
  place: Place,
  found: Findings,
  options: ReadingOptions,
): void {
  for (const text of texts) if (typeof text === "string") countMedium(text, place, found, options);
}

/** Whether a text in a member of this name may be a medium; all others are passed over. */
export const mayBeMedium = (name: string): boolean => readers.has(name) || isAddress(name);

interface Medium {
  /** Its media type in small letters, as far as anything says it; "" where it may be anything. */
  readonly type: string;
  /** Words are bounded by their bytes, an image is one image, and nobody knows how long anything else is. */
  readonly size: "words" | "image" | "any";
  /** How much of the body it takes up; 0 where it lies elsewhere. */
  readonly bytes: number;
  /** The member that callers are told of if it is a recording. */
  readonly member: string;
}

function addMedium({ type, size, bytes, member }: Medium, found: Findings): void {
  found.shown++;
  if (!silent.test(type)) found.mayBeHeard = true;
  if (type.startsWith("audio/")) found.recordedIn = member;
  if (size === "words") return;
  found.media++;
  found.mediaBytes += bytes;
  if (size === "image") found.images++;
  else found.unbounded = true;
}

const silent = /^(?:image|text)\/|^application\/(?:pdf|json)$/;

/** What a text is by the name of its member; undefined where it is no medium after all. */
type Reader = (text: string, place: Place, options: ReadingOptions) => Medium | undefined;

/** Some vendors take a text or a list of texts for these, others an object that holds an address or all of it. */
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
  ...[...mediaNames].map((name) => [name, addressOrAll] as const),
  ["url", addressInHolder],
  ["uri", addressInHolder],
  ["data", typedData],
  ["file_data", fileData],
  ["id", storedItem],
]);

const readerOf = (name: string): Reader | undefined =>
  readers.get(name) ?? (isAddress(name) ? address : undefined);

/** Every vendor has words of its own for where something is, and they end alike: document_url, fileUri. */
const isAddress = (name: string): boolean => name === "file_id" || /.ur[il]$/i.test(name);

/** The names that vendors are known to use for media, so that none of them may come in other letters. */
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

/** The address of an image, a film, a document, or a data URL that has all of it inside. */
function address(text: string, place: Place, options: ReadingOptions): Medium {
  const type = typeOfAddressed(text, place, options);
  const member = memberToTell(place);
  if (isDataUrl(text)) return inBody(text, type, member);
  const isImage = isImageAddress(place) && type.startsWith("image/");
  return { type, size: isImage ? "image" : "any", bytes: 0, member };
}

/** `url` and `uri` are the address of a medium only where the object around them is one. */
function addressInHolder(text: string, place: Place, options: ReadingOptions): Medium | undefined {
  const { under } = place;
  const isHolder = under === "source" || mediaNames.has(under) || isAddress(under);
  return isHolder ? address(text, place, options) : undefined;
}

/** Vendors that take either go by the name of the member, whatever type stands beside it, so nothing here is surely an image. */
function addressOrAll(text: string, place: Place, options: ReadingOptions): Medium {
  const type = typeOfAddressed(text, place, options);
  return { type, size: "any", bytes: text.length, member: memberToTell(place) };
}

function fileData(text: string, { under }: Place): Medium {
  return inBody(text, typeInside(text) ?? "", under);
}

/** Without a type it is nothing to look at or listen to, but a text that the vendor has sealed. */
function typedData(text: string, { under, beside }: Place): Medium | undefined {
  const type = isRecording(under, beside) ? "audio/" : mediaTypeBeside(beside);
  if (type === undefined && !mediaNames.has(under)) return undefined;
  return inBody(text, type ?? "", under);
}

/** A recording that OpenAI has kept, or an item that may have anything in it. */
function storedItem(_id: string, { under, beside }: Place): Medium | undefined {
  const isStored = under === "audio" || (under === "input" && isReference(beside));
  return isStored ? { type: "", size: "any", bytes: 0, member: under } : undefined;
}

/** A few bytes can be a hundred empty pages, or an hour of silence; an image is one image. */
function inBody(text: string, type: string, member: string): Medium {
  return { type, size: sizeOf(type), bytes: text.length, member };
}

function sizeOf(type: string): Medium["size"] {
  if (type.startsWith("text/")) return "words";
  return type.startsWith("image/") ? "image" : "any";
}

/** What is called audio is heard, whatever type it bears. */
function typeOfAddressed(text: string, place: Place, options: ReadingOptions): string {
  if (isSound(place.name) || isSound(place.under)) return "audio/";
  return typeInside(text) ?? typeElsewhere(text, place, options);
}

const memberToTell = ({ name, under }: Place): string => (isSound(name) ? name : under);

const isSound = (name: string): boolean => /audio/i.test(name);

/** What lies elsewhere is what its member is called, or what is said beside it; otherwise it may be anything. */
function typeElsewhere(text: string, place: Place, { goesByAddress }: ReadingOptions): string {
  if (isImageAddress(place)) return goesByAddress ? (typeByName(text) ?? "") : "image/";
  const { format } = place.beside;
  return mediaTypeBeside(place.beside) ?? (typeof format === "string" ? format.toLowerCase() : "");
}

/** Most vendors take for an image whatever stands in this member, and refuse it if it is anything else. */
const isImageAddress = ({ name, under }: Place): boolean => name === "image_url" || under === "image_url";

/** A format says so only under `audio`: elsewhere it may be that of a sealed text. */
const isRecording = (under: string, { format }: JsonObject): boolean =>
  under === "input_audio" || (under === "audio" && typeof format === "string");

const isDataUrl = (text: string): boolean => /^data:/i.test(text);

/** Media types have no case. */
const typeInside = (dataUrl: string): string | undefined =>
  /^data:([^;,]*)/i.exec(dataUrl)?.[1]?.toLowerCase();

function mediaTypeBeside(beside: JsonObject): string | undefined {
  const type = beside["media_type"] ?? beside["mimeType"] ?? beside["mime_type"];
  return typeof type === "string" ? type.toLowerCase() : undefined;
}

/** An item that OpenAI has stored: it says so, or has nothing but its id. */
const isReference = ({ type = null, content }: JsonObject): boolean =>
  type === "item_reference" || (type === null && content === undefined);
