import type { ChatEvent } from "./dialects/chat.ts";
import { bytesOf, fits, mouldOf, type Fit, type FrameMould } from "./frame-mould.ts";
import { endOfFrame, frameBytesMax, frameOf, FrameTooLong, type SseFrame } from "./sse.ts";
import type { StreamMeter } from "./stream-meter.ts";

/** How the events of one stream are understood and what the caller gets to see of them. */
export interface StreamRules {
  readonly contentType: string;
  /** What a frame means, for the meter. */
  readonly read: (frame: SseFrame) => readonly ChatEvent[];
  /** What the caller gets for it: the frame's own text, another one, or nothing. */
  readonly write: (frame: SseFrame, events: readonly ChatEvent[]) => string;
  /** What the caller gets after the last frame, of an answer that is whole, ended too early, or was cut off. */
  readonly end: (ending: "whole" | "early" | "cut") => string;
  /** Figures in a frame that are negative, fractional or absurd. */
  readonly oddFigures: (frame: SseFrame) => readonly string[];
  /** Frames that differ in one string are written alike, whichever came before. */
  readonly alike: boolean;
}

/** Reads whole frames for the meter and gives what the caller sees of them: where nothing is changed, the same bytes. */
export function createFramePasser(
  rules: StreamRules,
  meter: StreamMeter,
  isWithheld: (text: string) => boolean,
) {
  const fit: Fit = { stringEnd: 0, outputBytes: 0 };
  let mould: FrameMould | undefined;
  let tooLong = false;
  let stopped = false;

  /** Reads the frame in full, learns its mould, and gives what is shown of it. */
  const readInFull = (bytes: Uint8Array, text: string, start: number, end: number): string => {
    const frame = frameOf(utf8Of(bytes, start, end));
    const events = rules.read(frame);
    const odd = rules.oddFigures(frame);
    meter.add(events, odd);
    const written = rules.write(frame, events);
    const asItCame = text.slice(start, end);
    const shown = written === frame.text ? asItCame : bytesOf(written);
    // Only a comment leaves everything as it was; after any other frame the same words might mean something else.
    if (rules.alike && frame.event !== undefined)
      mould = odd.length === 0 ? mouldOf(asItCame, shown, events) : undefined;
    return shown;
  };

  return {
    pass: (bytes: Uint8Array): Uint8Array => {
      if (tooLong) throw new FrameTooLong();
      const text = latin1Of(bytes);
      stopped = isWithheld(text);
      const passable = stopped ? beforeWithheld(text, isWithheld) : text.length;
      let shown = "";
      /** Up to here `shown` has what is to be shown; behind it, what is read passes as it came. */
      let settled = 0;
      let at = 0;
      while (at < passable && !tooLong) {
        if (mould !== undefined && fits(mould, text, at, fit)) {
          const { stringEnd, outputBytes } = fit;
          const end = stringEnd + mould.after.length;
          meter.addOutput(outputBytes);
          if (mould.shownAfter !== mould.after || mould.shownBefore !== mould.before) {
            const output = text.slice(at + mould.before.length, stringEnd);
            shown += text.slice(settled, at) + mould.shownBefore + output + mould.shownAfter;
            settled = end;
          }
          at = end;
          continue;
        }
        const end = endOfFrame(text, at);
        tooLong = end - at > frameBytesMax;
        if (tooLong) break;
        const written = readInFull(bytes, text, at, end);
        if (written !== text.slice(at, end)) {
          shown += text.slice(settled, at) + written;
          settled = end;
        }
        at = end;
      }
      // What came whole before a long one is still passed on.
      if (tooLong && at === 0) throw new FrameTooLong();
      if (settled === 0) return at === bytes.length ? bytes : bytes.subarray(0, at);
      return Buffer.from(shown + text.slice(settled, at), "latin1");
    },
    /** Whether the last piece held a frame that must not be shown; nothing behind it is shown either. */
    stopped: () => stopped,
  };
}

/** Where the first frame begins that is to be withheld. */
function beforeWithheld(text: string, isWithheld: (text: string) => boolean): number {
  let at = 0;
  for (let end = endOfFrame(text, at); at < text.length; end = endOfFrame(text, at)) {
    if (isWithheld(text.slice(at, end))) return at;
    at = end;
  }
  return at;
}

// What arrives is a plain array of bytes; to make a Buffer of it costs more than to read it as one.
const buffer = Buffer.alloc(0);
const latin1Of = (bytes: Uint8Array): string => buffer.toString.call(bytes, "latin1");
const utf8Of = (bytes: Uint8Array, start: number, end: number): string =>
  buffer.toString.call(bytes, "utf8", start, end);
