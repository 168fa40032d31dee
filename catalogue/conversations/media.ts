// Images, recordings, films and files in a conversation, in whichever dialect: how many there are, how long, whether they can
// be heard, and what lies elsewhere, where nobody sees from here what it is.

import { typeByName, type JsonObject } from "../../gateway/src/operation/define-operation.ts";

/** What media say of what a call may read, added up as they are looked at. */
export interface FoundMedia {
  /** A vendor that may be asked goes by the address of an image, and reads there whatever it finds. */
  readonly goesByAddress: boolean;
  /** Tokens come in that the body's length says nothing about: from elsewhere, or from a file of any number of pages. */
  unbounded: boolean;
  /** Images, recordings and files, in the body or elsewhere. */
  media: number;
  /** All that was looked at in place of words: media, and files of plain text. */
  shown: number;
  /** Those of them that are certainly images. */
  images: number;
  /** Bytes of the body that are media and not text. */
  mediaBytes: number;
  /** The member that has a recording in it; undefined where none certainly has. */
  recordedIn: string | undefined;
  /** Something of it may be heard: a recording, a film, or what nobody can see from here. */
  mayBeHeard: boolean;
}

/** Some vendors take a text or a list of texts for these, others what holds an address, or all of it. */
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

/** Every vendor has words of its own for where something is, and they end alike: document_url, fileUri. */
const isAddress = (name: string): boolean => name === "file_id" || /.ur[il]$/i.test(name);

/** What holds an address under a name that means nothing by itself. */
const holdsAddress = (name: string): boolean => name === "source" || mediaNames.has(name) || isAddress(name);

const byName: ReadonlySet<string> = new Set([...mediaNames, "url", "uri", "data", "file_data", "id"]);

/** Whether a text of this name may say something, so that all others are passed over. */
export const mayTell = (name: string): boolean => byName.has(name) || isAddress(name);

/** Those of these names that vendors are known to use, so that none of them comes in other letters. */
export const mediaMembers: readonly string[] = [
  ...byName,
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

/** What a text says by the name of its member, and by what it stands under and beside. */
export function lookAtText(
  name: string,
  text: string,
  { under, beside }: { readonly under: string; readonly beside: JsonObject },
  found: FoundMedia,
): void {
  if (isAddress(name) || mediaNames.has(name) || (isBareAddress(name) && holdsAddress(under))) {
    const inside = typeInside(text);
    const sounding = [name, under].find(isSound);
    const mediaType = sounding ? "audio/" : (inside ?? typeElsewhere(name, text, { under, beside }, found));
    if (mediaNames.has(name)) addAddressOrAll(text, found);
    else if (inside !== undefined) addMedia(mediaType, text, found);
    else if (isImageAddress(name, under) && mediaType.startsWith("image/")) addImage(found);
    else addElsewhere(found);
    addSound(mediaType, sounding ?? under, found);
  } else if (name === "file_data") {
    const mediaType = typeInside(text) ?? "";
    addMedia(mediaType, text, found);
    addSound(mediaType, under, found);
  } else if (name === "data") {
    const type = isRecording(under, beside) ? "audio/" : (mediaTypeBeside(beside) ?? typeOfHolder(under));
    // Without a type it is nothing to look at or listen to, but a text that the vendor has sealed.
    if (type === undefined) return;
    addMedia(type, text, found);
    addSound(type, under, found);
  } else if (name === "id" && (under === "audio" || (under === "input" && isReference(beside)))) {
    addElsewhere(found);
    found.mayBeHeard = true;
  }
}

const isBareAddress = (name: string): boolean => name === "url" || name === "uri";

/** What is called so is heard, whatever type it bears. */
const isSound = (name: string): boolean => /audio/i.test(name);

const typeOfHolder = (under: string): string | undefined => (mediaNames.has(under) ? "" : undefined);

/** Elsewhere a format beside data may be that of a sealed text. */
const isRecording = (under: string, { format }: JsonObject): boolean =>
  under === "input_audio" || (under === "audio" && typeof format === "string");

/** Media types have no case. */
const typeInside = (dataUrl: string): string | undefined =>
  /^data:([^;,]*)/i.exec(dataUrl)?.[1]?.toLowerCase();

function mediaTypeBeside(beside: JsonObject): string | undefined {
  const type = beside["media_type"] ?? beside["mimeType"] ?? beside["mime_type"];
  return typeof type === "string" ? type.toLowerCase() : undefined;
}

/** What lies elsewhere is what its member is called, or what is said of it; otherwise it may be anything. */
function typeElsewhere(
  name: string,
  address: string,
  { under, beside }: { readonly under: string; readonly beside: JsonObject },
  { goesByAddress }: FoundMedia,
): string {
  if (isImageAddress(name, under)) return goesByAddress ? (typeByName(address) ?? "") : "image/";
  const { format } = beside;
  return mediaTypeBeside(beside) ?? (typeof format === "string" ? format.toLowerCase() : "");
}

const silent = /^(?:image|text)\/|^application\/(?:pdf|json)$/;

function addSound(mediaType: string, under: string, found: FoundMedia): void {
  if (silent.test(mediaType)) return;
  found.mayBeHeard = true;
  if (mediaType.startsWith("audio/")) found.recordedIn = under;
}

/** An item of a response that OpenAI has stored: it says so, or has nothing but its id. */
const isReference = ({ type = null, content }: JsonObject): boolean =>
  type === "item_reference" || (type === null && content === undefined);

/** Most vendors take it for an image by the member that it stands in, and refuse it if it is anything else. */
const isImageAddress = (name: string, under: string): boolean =>
  name === "image_url" || under === "image_url";

/** Wherever an image is, it is one image. */
function addImage(found: FoundMedia): void {
  found.shown++;
  found.media++;
  found.images++;
}

function addElsewhere(found: FoundMedia): void {
  found.shown++;
  found.unbounded = true;
  found.media++;
}

/** Vendors go by the name of its member, and by no type that is written beside it. */
function addAddressOrAll(text: string, found: FoundMedia): void {
  addElsewhere(found);
  found.mediaBytes += text.length;
}

function addMedia(mediaType: string, data: string, found: FoundMedia): void {
  found.shown++;
  if (mediaType.startsWith("text/")) return;
  found.media++;
  found.mediaBytes += data.length;
  // A few bytes can be a hundred empty pages, or an hour of silence; an image is one image.
  if (mediaType.startsWith("image/")) found.images++;
  else found.unbounded = true;
}
