// Images, recordings, films and files in a conversation, counted.

import type { Findings, ReadingOptions } from "./findings.ts";
import type { Place } from "./media-type.ts";
import { readMedium, type Medium } from "./read-medium.ts";

/** Counts a text if it is a medium. Ask `mayBeMedium` first: that spares most texts a place. */
export function countMedium(text: string, place: Place, found: Findings, options: ReadingOptions): void {
  const medium = readMedium(text, place, options);
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

/** What a model drew, in base64 and under a name that elsewhere says nothing of a medium. */
export const countDrawing = (base64: string, found: Findings): void =>
  addMedium({ type: "image/", size: "image", bytes: base64.length, member: "result" }, found);

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
