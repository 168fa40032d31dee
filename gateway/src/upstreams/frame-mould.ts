// Most frames of a stream differ from the one before in a single string: the next piece of output. Once such a frame
// has been read in full, the next ones need no parser: what stands before and behind the string is compared, and the
// string's bytes are counted. Whatever does not fit is read in full again, so nothing is guessed.
//
// All strings here hold one byte in each character, as they came over the wire.

import type { ChatEvent } from "./dialects/chat.ts";

export interface FrameMould {
  readonly before: string;
  readonly after: string;
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
    before: taken.before,
    after: taken.after,
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
export function fits({ before, after }: FrameMould, text: string, start: number, fit: Fit): boolean {
  if (!text.startsWith(before, start)) return false;
  let at = start + before.length;
  let outputBytes = 0;
  for (let byte = text.charCodeAt(at); byte !== quote; byte = text.charCodeAt(at)) {
    if (byte === backslash && shortEscapes.includes(text.charAt(at + 1))) at += 2;
    // Escapes of four digits, control characters and the end of the text are left to the full reading.
    else if (byte !== backslash && byte >= space) at += 1;
    else return false;
    outputBytes += 1;
  }
  if (!text.startsWith(after, at)) return false;
  fit.stringEnd = at;
  fit.outputBytes = outputBytes;
  return true;
}

const quote = 0x22;
const backslash = 0x5c;
const space = 0x20;
/** Each stands for one byte. */
const shortEscapes = '"\\/bfnrt';
