import type { ChatEvent } from "../dialects/chat.ts";
import { bytesOf, fits, mouldOf, type Fit, type FrameMould } from "./frame-mould.ts";
import { repeatsSecret, secretBytesMin } from "../repeated-secret.ts";
import { endOfFrame, frameBytesMax, frameOf, FrameTooLong, type SseFrame } from "./sse.ts";
import type { StreamMeter } from "./stream-meter.ts";

/** How the events of one stream are understood and what the caller gets to see of them. */
export interface StreamRules {
  readonly contentType: string;
  /** What a frame means, for the meter. */
  readonly read: (frame: SseFrame) => readonly ChatEvent[];
  /** What it means that the stream ended in good order, where no frame said that the answer had. */
  readonly readEnd?: (() => readonly ChatEvent[]) | undefined;
  /** What the caller gets for it: the frame's own text, another one, or nothing. */
  readonly write: (frame: SseFrame, events: readonly ChatEvent[]) => string;
  /** What the caller gets after the last frame, of an answer that is whole, or why it is not. */
  readonly end: (ending: ShownEnding) => string;
  /** Figures in a frame that are negative, fractional or absurd. */
  readonly oddFigures: (frame: SseFrame) => readonly string[];
  /** By which ids later calls may go on with what was read so far, where the vendor keeps it. */
  readonly keptIds?: () => readonly string[];
  /** Frames that differ in one string are written alike, whichever came before. */
  readonly alike: boolean;
}

/** It is whole, ended too early, was cut off, or was left by a gateway that stops. */
export type ShownEnding = "whole" | "early" | "cut" | "gateway_stopped";

/** Reads whole frames for the meter and gives what the caller sees of them: where nothing is changed, the same bytes. */
export class FramePasser {
  readonly #rules: StreamRules;
  readonly #meter: StreamMeter;
  readonly #secrets: readonly string[];
  readonly #secretBytesMin: number;
  #mould: FrameMould | undefined;
  #tooLong = false;
  #stopped = false;

  constructor(rules: StreamRules, meter: StreamMeter, secrets: readonly string[]) {
    this.#rules = rules;
    this.#meter = meter;
    this.#secrets = secrets;
    this.#secretBytesMin = secretBytesMin(secrets);
  }

  /** Whether the last piece held a frame that repeats a secret; neither it nor anything behind it is shown. */
  get stopped(): boolean {
    return this.#stopped;
  }

  pass(bytes: Uint8Array): Uint8Array {
    if (this.#tooLong) throw new FrameTooLong();
    return this.#isUsual(bytes) ? bytes : this.#passInFull(bytes);
  }

  /**
   * Whether these are frames of the mould alone that pass as they came, as nearly all are; then they are metered. What
   * they say is too short to repeat a secret, and all else of them was looked at when the mould was learned.
   */
  #isUsual(bytes: Uint8Array): boolean {
    const mould = this.#mould;
    if (mould === undefined || mould.changes) return false;
    let outputBytes = 0;
    for (let at = 0; at < bytes.length; at = fit.stringEnd + mould.after.length) {
      if (!fits(mould, bytes, at, fit)) return false;
      if (fit.stringEnd - at - mould.before.length >= this.#secretBytesMin) return false;
      outputBytes += fit.outputBytes;
    }
    this.#stopped = false;
    this.#meter.addOutput(outputBytes);
    return true;
  }

  #passInFull(bytes: Uint8Array): Uint8Array {
    const text = latin1Of(bytes);
    this.#stopped = repeatsSecret(this.#secrets, text);
    const passable = this.#stopped ? beforeRepeated(text, this.#secrets) : text.length;
    let shown = "";
    /** Up to here `shown` has what is to be shown; behind it, what is read passes as it came. */
    let settled = 0;
    let at = 0;
    while (at < passable && !this.#tooLong) {
      const mould = this.#mould;
      if (mould !== undefined && fits(mould, bytes, at, fit)) {
        const { stringEnd, outputBytes } = fit;
        const end = stringEnd + mould.after.length;
        this.#meter.addOutput(outputBytes);
        if (mould.changes) {
          const output = text.slice(at + mould.before.length, stringEnd);
          shown += text.slice(settled, at) + mould.shownBefore + output + mould.shownAfter;
          settled = end;
        }
        at = end;
        continue;
      }
      const end = endOfFrame(text, at);
      this.#tooLong = end - at > frameBytesMax;
      if (this.#tooLong) break;
      const written = this.#readInFull(bytes, text, at, end);
      if (written !== text.slice(at, end)) {
        shown += text.slice(settled, at) + written;
        settled = end;
      }
      at = end;
    }
    // What came whole before a long one is still passed on.
    if (this.#tooLong && at === 0) throw new FrameTooLong();
    if (settled === 0) return at === bytes.length ? bytes : bytes.subarray(0, at);
    return Buffer.from(shown + text.slice(settled, at), "latin1");
  }

  /** Reads the frame in full, learns its mould, and gives what is shown of it. */
  #readInFull(bytes: Uint8Array, text: string, start: number, end: number): string {
    const rules = this.#rules;
    const frame = frameOf(utf8Of(bytes, start, end));
    const events = rules.read(frame);
    const odd = rules.oddFigures(frame);
    this.#meter.add(events, odd);
    const written = rules.write(frame, events);
    const asItCame = text.slice(start, end);
    const shown = written === frame.text ? asItCame : bytesOf(written);
    // Only a comment leaves everything as it was; after any other frame the same words might mean something else.
    if (rules.alike && frame.event !== undefined)
      this.#mould =
        odd.length === 0 && text.length <= mouldedBytesMax ? mouldOf(asItCame, shown, events) : undefined;
    return shown;
  }
}

/** A mould holds on to all that came with its frame, for as long as the stream lasts. */
const mouldedBytesMax = 1024 * 1024;

/** Filled and read within one piece, so one is enough for all streams. */
const fit: Fit = { stringEnd: 0, outputBytes: 0 };

/** Where the first frame begins that repeats one of them. */
function beforeRepeated(text: string, secrets: readonly string[]): number {
  let at = 0;
  for (let end = endOfFrame(text, at); at < text.length; end = endOfFrame(text, at)) {
    if (repeatsSecret(secrets, text.slice(at, end))) return at;
    at = end;
  }
  return at;
}

// What arrives is a plain array of bytes; to make a Buffer of it costs more than to read it as one.
const buffer = Buffer.alloc(0);
const latin1Of = (bytes: Uint8Array): string => buffer.toString.call(bytes, "latin1");
const utf8Of = (bytes: Uint8Array, start: number, end: number): string =>
  buffer.toString.call(bytes, "utf8", start, end);
