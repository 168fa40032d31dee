import { DecidingNames, isJsonObject } from "../../gateway/src/for-catalogues.ts";
import type { Findings } from "./findings.ts";

/** Members that may ask for a spoken answer: in OpenAI's body, and in Google's settings. */
export const speechMembers: ReadonlySet<string> = new Set([
  "modalities",
  "audio",
  "responseModalities",
  "response_modalities",
  "speechConfig",
  "speech_config",
]);

/** Google's settings of each kind of output: a list of formats, of which sound and film have prices of their own. */
export const formatMembers: ReadonlySet<string> = new Set(["responseFormat", "response_format"]);

export const speechNames = new DecidingNames([...speechMembers, ...formatMembers]);

/** Such a member has a voice in it, or names one or several ways to answer, any of which may be speech. */
export function readSpeech(member: unknown, path: string, found: Findings): void {
  const ways = Array.isArray(member) ? member : [member];
  if (isJsonObject(member) || !ways.every(isSilent)) found.spokenBy = path;
}

export function readFormats(member: unknown, path: string, found: Findings): void {
  const formats: readonly unknown[] = Array.isArray(member) ? member : [member];
  if (!formats.every(isSilentFormat)) found.spokenBy = path;
}

const isSilentFormat = (format: unknown): boolean =>
  isJsonObject(format) &&
  Object.entries(format).every(([kind, settings]) => settings === null || isSilent(kind));

/** Google also takes numbers for the ways: 1 is text and 2 an image. */
const isSilent = (way: unknown): boolean =>
  typeof way === "string" ? /^(?:text|image)$/i.test(way) : way === 1 || way === 2;
