// Server-sent events as bytes arrive, in whatever pieces. Whole frames are found without reading what is in them, so
// that what is not changed is passed on as the very bytes that came.

import type { SseEvent } from "../dialects/dialect.ts";

/** One frame of a stream: its text up to and including the blank line, and the event in it, if it holds one. */
export interface SseFrame {
  readonly text: string;
  /** Undefined for a frame of comments only. */
  readonly event: SseEvent | undefined;
}

/** An image comes as one event of some megabytes; a line without end must not fill the memory. */
export const frameBytesMax = 32 * 1024 * 1024;

export class FrameTooLong extends Error {
  constructor() {
    super(`An event is longer than ${frameBytesMax} bytes, or too many are long at once.`);
    this.name = "FrameTooLong";
  }
}

/** What comes of a longer frame is set aside, so that it is not copied again with every piece. */
const asideBytesMin = 64 * 1024;

/**
 * The room that all long frames share until their callers have taken them: however many streams there are, a stream
 * needs 64 KiB and a piece for itself, and all of them together no more than this besides. To join and read a frame
 * takes a few times its length, but only for one frame at a time.
 */
export class FrameRoom {
  #freeBytes: number;

  constructor(bytes: number = 256 * 1024 * 1024) {
    this.#freeBytes = bytes;
  }

  take(bytes: number): boolean {
    if (bytes > this.#freeBytes) return false;
    this.#freeBytes -= bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#freeBytes += bytes;
  }
}

const nothing = new Uint8Array();

/** Holds back what is not a whole frame yet: should the stream break off there, the caller must not get half an event. */
export class FrameCutter {
  readonly #room: FrameRoom;
  #pending: Uint8Array = nothing;
  /** What came of the frame before what is pending. */
  #aside: Uint8Array[] = [];
  #asideBytes = 0;
  /** What was taken of the room; kept until the next piece comes, for then the caller has taken the frame. */
  #takenBytes = 0;
  #tooLong = false;

  constructor(room: FrameRoom = new FrameRoom()) {
    this.#room = room;
  }

  /** The frames that are complete now, one behind the other; empty when none is. Throws FrameTooLong. */
  push(piece: Uint8Array): Uint8Array {
    // What came whole before a long one was still passed on; here the stream ends.
    if (this.#tooLong) throw new FrameTooLong();
    if (this.#takenBytes > 0 && this.#asideBytes === 0) this.#leaveRoom();
    const begun = this.#pending.length;
    const bytes = begun === 0 ? piece : Buffer.concat([this.#pending, piece]);
    // In what was pending no frame ended, unless with a CR that came last.
    const end = endOfFrames(bytes, begun - 1);
    if (end === bytes.length) {
      if (begun > 0) this.#pending = nothing;
      return this.#join(bytes);
    }
    const whole = end === 0 ? nothing : this.#join(bytes.subarray(0, end));
    this.#keep(bytes.subarray(end));
    if (end === 0 && this.#tooLong) throw new FrameTooLong();
    return whole;
  }

  /** What is left when the stream ends without a blank line. */
  rest(): Uint8Array {
    if (this.#tooLong) throw new FrameTooLong();
    const last = this.#join(this.#pending);
    this.#pending = nothing;
    return last;
  }

  /** Nothing more comes, and nothing is kept. */
  close(): void {
    this.#pending = nothing;
    this.#aside = [];
    this.#asideBytes = 0;
    this.#leaveRoom();
  }

  #keep(pending: Uint8Array): void {
    this.#pending = pending;
    if (pending.length < asideBytesMin) return;
    // Enough stays to see whether the next piece completes a blank line.
    const aside = pending.subarray(0, -blankLineBytesMax);
    this.#tooLong = this.#asideBytes + pending.length > frameBytesMax || !this.#room.take(aside.length);
    if (this.#tooLong) return;
    this.#pending = pending.subarray(-blankLineBytesMax);
    this.#aside.push(aside);
    this.#asideBytes += aside.length;
    this.#takenBytes += aside.length;
  }

  #join(last: Uint8Array): Uint8Array {
    if (this.#asideBytes === 0) return last;
    const whole = Buffer.concat([...this.#aside, last]);
    this.#aside = [];
    this.#asideBytes = 0;
    return whole;
  }

  #leaveRoom(): void {
    this.#room.giveBack(this.#takenBytes);
    this.#takenBytes = 0;
  }
}

const blankLineBytesMax = "\r\n\r\n".length;
const LF = 0x0a;
const CR = 0x0d;

/** Just behind the last blank line, looked for from the end, where it usually is; 0 when there is none. */
export function endOfFrames(bytes: Uint8Array, notBefore: number): number {
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
