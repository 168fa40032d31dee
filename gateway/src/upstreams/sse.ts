// Server-sent events as bytes arrive, in whatever pieces. Whole frames are found without reading what is in them, so
// that what is not changed is passed on as the very bytes that came.

import type { SseEvent } from "./dialects/dialect.ts";

/** One frame of a stream: its text up to and including the blank line, and the event in it, if it holds one. */
export interface SseFrame {
  readonly text: string;
  /** Undefined for a frame of comments only. */
  readonly event: SseEvent | undefined;
}

/** No honest event is longer; a line without end must not fill the memory. */
export const frameBytesMax = 1024 * 1024;

export class FrameTooLong extends Error {
  constructor() {
    super(`An event is longer than ${frameBytesMax} bytes.`);
    this.name = "FrameTooLong";
  }
}

const nothing = new Uint8Array();

/** Holds back what is not a whole frame yet: should the stream break off there, the caller must not get half an event. */
export class FrameCutter {
  #pending: Uint8Array = nothing;

  /** The frames that are complete now, one behind the other; empty when none is. Throws FrameTooLong. */
  push(piece: Uint8Array): Uint8Array {
    const begun = this.#pending.length;
    // What came whole before a long one was still passed on; here the stream ends.
    if (begun > frameBytesMax) throw new FrameTooLong();
    const bytes = begun === 0 ? piece : Buffer.concat([this.#pending, piece]);
    // In what was pending no frame ended, unless with a CR that came last.
    const end = endOfFrames(bytes, begun - 1);
    if (end === bytes.length) {
      if (begun > 0) this.#pending = nothing;
      return bytes;
    }
    this.#pending = bytes.subarray(end);
    if (end === 0 && this.#pending.length > frameBytesMax) throw new FrameTooLong();
    return bytes.subarray(0, end);
  }

  /** What is left when the stream ends without a blank line. */
  rest(): Uint8Array {
    const last = this.#pending;
    if (last.length > frameBytesMax) throw new FrameTooLong();
    this.#pending = nothing;
    return last;
  }
}

const LF = 0x0a;
const CR = 0x0d;

/** Just behind the last blank line, looked for from the end, where it usually is; 0 when there is none. */
function endOfFrames(bytes: Uint8Array, notBefore: number): number {
  for (let end = bytes.length; end > 0 && end > notBefore; end--) {
    const lineEnd = startOfLineEnd(bytes, end);
    if (lineEnd > 0 && startOfLineEnd(bytes, lineEnd) >= 0) return end;
  }
  return 0;
}

/** Where the line end begins that ends at `end`; -1 when none does. Lines end with CR LF, LF or CR alone. */
function startOfLineEnd(bytes: Uint8Array, end: number): number {
  const last = bytes[end - 1];
  if (last === LF) return bytes[end - 2] === CR ? end - 2 : end - 1;
  // A CR that came last may be the first half of a line end.
  return last === CR && end < bytes.length && bytes[end] !== LF ? end - 1 : -1;
}

const blankLine = /(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r(?!\n))/g;

/** Just behind the blank line that ends the frame that begins at `start`, or the end of the text. */
export function endOfFrame(text: string, start: number): number {
  blankLine.lastIndex = start;
  return blankLine.test(text) ? blankLine.lastIndex : text.length;
}

const byteOrderMark = "\u{feff}";

export function frameOf(text: string): SseFrame {
  let event: string | undefined;
  let data: string | undefined;
  const lines = (text.startsWith(byteOrderMark) ? text.slice(1) : text).split(/\r\n|\n|\r/);
  for (const line of lines) {
    if (line.startsWith("data:")) {
      const value = line.charCodeAt(5) === 0x20 ? line.slice(6) : line.slice(5);
      data = data === undefined ? value : `${data}\n${value}`;
    } else if (line.startsWith("event:")) {
      event = line.slice(6).trim();
    }
  }
  return { text, event: data === undefined ? undefined : { event, data } };
}

/** An event as text of a stream. */
export const sseText = ({ event, data }: SseEvent): string =>
  `${event === undefined ? "" : `event: ${event}\n`}data: ${data}\n\n`;
