// Server-sent events as bytes arrive, in whatever pieces. Frames keep their text as it came, so that what is not
// changed is not written anew.

import type { SseEvent } from "./dialects/dialect.ts";

/** One frame of a stream: its text up to and including the blank line, and the event in it, if it holds one. */
export interface SseFrame {
  readonly text: string;
  /** Undefined for a frame of comments only. */
  readonly event: SseEvent | undefined;
}

/** No honest event is longer; a line without end must not fill the memory. */
const frameCharactersMax = 1024 * 1024;

class FrameTooLong extends Error {
  constructor() {
    super(`An event is longer than ${frameCharactersMax} characters.`);
    this.name = "FrameTooLong";
  }
}

export interface SseParser {
  /** The frames that are complete now. Throws FrameTooLong. */
  readonly push: (bytes: Uint8Array) => SseFrame[];
  /** What is left when the stream ends without a blank line. */
  readonly rest: () => SseFrame[];
}

export function createSseParser(): SseParser {
  const decoder = new TextDecoder();
  let pending = "";
  let searched = 0;
  let tooLong = false;

  const takeFrames = (): SseFrame[] => {
    const frames: SseFrame[] = [];
    let start = 0;
    for (let end = endOfFrame(pending, searched); end !== undefined; end = endOfFrame(pending, start)) {
      tooLong ||= end - start > frameCharactersMax;
      if (tooLong) break;
      frames.push(frameOf(pending.slice(start, end)));
      start = end;
    }
    pending = pending.slice(start);
    // A blank line may have begun, but not sooner than its last characters.
    searched = Math.max(0, pending.length - blankLineCharactersMax);
    tooLong ||= pending.length > frameCharactersMax;
    return frames;
  };

  return {
    push: (bytes) => {
      if (tooLong) throw new FrameTooLong();
      pending += decoder.decode(bytes, { stream: true });
      const frames = takeFrames();
      // What came whole before the long one is still passed on; the next push ends the stream.
      if (tooLong && frames.length === 0) throw new FrameTooLong();
      return frames;
    },
    rest: () => {
      if (tooLong) throw new FrameTooLong();
      pending += decoder.decode();
      const last = pending.trim() === "" ? [] : [frameOf(pending)];
      pending = "";
      return last;
    },
  };
}

/** Lines end with CR LF, LF or CR alone, and a frame ends with an empty one. */
const blankLine = /(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r(?!\n))/g;
const blankLineCharactersMax = 4;

/** Just behind the blank line that ends the frame; undefined while it has not come. */
function endOfFrame(text: string, start: number): number | undefined {
  blankLine.lastIndex = start;
  if (!blankLine.test(text)) return undefined;
  const end = blankLine.lastIndex;
  // A CR that came last may be the first half of a line end.
  return end === text.length && text.endsWith("\r") ? undefined : end;
}

function frameOf(text: string): SseFrame {
  let event: string | undefined;
  let data: string | undefined;
  for (const line of text.split(/\r\n|\n|\r/)) {
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
