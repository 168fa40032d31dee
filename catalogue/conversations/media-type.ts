// The media type of a text, in small letters, as far as anything says it.

import { typeByName, type JsonObject } from "../../gateway/src/for-catalogues.ts";
import type { ReadingOptions } from "./findings.ts";

/** Where a text stands: in the member `name` of the object `beside`, which is itself in the member `under`. */
export interface Place {
  readonly name: string;
  readonly under: string;
  readonly beside: JsonObject;
}

/** Of a data URL, or of what lies at an address; "" where it may be anything. What is called audio is heard, whatever its type. */
export function typeOfAddressed(text: string, place: Place, options: ReadingOptions): string {
  if (isSound(place.name) || isSound(place.under)) return "audio/";
  return typeInside(text) ?? typeElsewhere(text, place, options);
}

/** Of what stands in the body itself; undefined where nothing says it. */
export const typeOfData = (under: string, beside: JsonObject): string | undefined =>
  isRecording(under, beside) ? "audio/" : typeBeside(beside);

export const typeInside = (dataUrl: string): string | undefined =>
  /^data:([^;,]*)/i.exec(dataUrl)?.[1]?.toLowerCase();

export const isSound = (name: string): boolean => /audio/i.test(name);

/** Most vendors take whatever stands in this member for an image, and refuse it if it is anything else. */
export const isImageAddress = ({ name, under }: Place): boolean =>
  name === "image_url" || under === "image_url";

/** By the name of its member, or by what is said beside it. */
function typeElsewhere(text: string, place: Place, { goesByAddress }: ReadingOptions): string {
  if (isImageAddress(place)) return goesByAddress ? (typeByName(text) ?? "") : "image/";
  const { format } = place.beside;
  return typeBeside(place.beside) ?? (typeof format === "string" ? format.toLowerCase() : "");
}

/** Only under `audio` does a format say so: elsewhere it may be the format of a sealed text. */
const isRecording = (under: string, { format }: JsonObject): boolean =>
  under === "input_audio" || (under === "audio" && typeof format === "string");

function typeBeside(beside: JsonObject): string | undefined {
  const type = beside["media_type"] ?? beside["mimeType"] ?? beside["mime_type"];
  return typeof type === "string" ? type.toLowerCase() : undefined;
}
