// Most frames of a stream differ from the one before in a single string: the next piece of output. Once such a frame
// has been read in full, the next ones need no parser: what stands before and behind the string is compared, and the
// string's bytes are counted. Whatever does not fit is read in full again, so nothing is guessed.
//
// All strings here hold one byte in each character, as they came over the wire. Bytes are compared one by one, because to
// call for a comparison costs more than to compare a few hundred of them.

import type { ChatEvent } from "../dialects/chat.ts";

export interface FrameMould {
  readonly before: Uint8Array;
  readonly after: Uint8Array;
  /** Whether the caller gets to see other words than these two; if so, the next two. */
  readonly changes: boolean;
  readonly shownBefore: string;
  readonly shownAfter: string;
}

/** Learns the mould of a frame that said one piece of output and nothing else; undefined for any other. */
export function mouldOf(frame: string, shown: string, events: readonly ChatEvent[]): FrameMould | undefined {
  const [event] = events;
  if (event === undefined || events.length > 1 || !isOutputOnly(event)) return undefined;
  const output = bytesOf(JSON.stringify(event.text));
  const taken = splitAt(frame, output);
  const given = shown === frame ? taken : splitAt(shown, output);
  if (!taken || !given) return undefined;
  return {
    before: Buffer.from(taken.before, "latin1"),
    after: Buffer.from(taken.after, "latin1"),
    changes: given.before !== taken.before || given.after !== taken.after,
    shownBefore: given.before,
    shownAfter: given.after,
  };
}

type Output = Extract<ChatEvent, { readonly kind: "text" | "reasoning" | "tool_arguments" }>;

const isOutputOnly = (event: ChatEvent): event is Output =>
  event.kind === "text" ||
  event.kind === "tool_arguments" ||
  (event.kind === "reasoning" && event.signature === undefined && event.redacted === undefined);

/** What stands around the string, quotes included, if the string occurs once. */
function splitAt(
  frame: string,
  quoted: string,
): { readonly before: string; readonly after: string } | undefined {
  const at = frame.indexOf(quoted);
  if (at === -1 || frame.indexOf(quoted, at + 1) !== -1) return undefined;
  return { before: frame.slice(0, at + 1), after: frame.slice(at + quoted.length - 1) };
}

/** A text as the bytes of its UTF-8, one in each character. */
export const bytesOf = (text: string): string => Buffer.from(text).toString("latin1");

/** What the string of a frame holds that fits the mould: where it ends, and how many bytes of output it says. */
export interface Fit {
  stringEnd: number;
  outputBytes: number;
}

/** Whether a frame of this mould begins at `start`; if so, `fit` is told what is in it. */
export function fits({ before, after }: FrameMould, bytes: Uint8Array, start: number, fit: Fit): boolean {
  if (!hasAt(bytes, start, before)) return false;
  let at = start + before.length;
  let outputBytes = 0;
  for (let byte = bytes[at]; byte !== quote; byte = bytes[at]) {
    // Escapes of four digits, control characters and the end of the bytes are left to the full reading.
    if (byte === undefined || byte < space) return false;
    if (byte !== backslash) at += 1;
    else if (shortEscapes.includes(bytes[at + 1] ?? 0)) at += 2;
    else return false;
    outputBytes += 1;
  }
  if (!hasAt(bytes, at, after)) return false;
  fit.stringEnd = at;
  fit.outputBytes = outputBytes;
  return true;
}

function hasAt(bytes: Uint8Array, start: number, part: Uint8Array): boolean {
  if (start + part.length > bytes.length) return false;
  for (let at = 0; at < part.length; at++) if (bytes[start + at] !== part[at]) return false;
  return true;
}

const quote = 0x22;
const backslash = 0x5c;
const space = 0x20;
/** Each stands for one byte. */
const shortEscapes = Buffer.from('"\\/bfnrt');
