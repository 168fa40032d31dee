// How a stream begins. Some vendors say that they have begun, and only then that there will be no answer: to the caller nothing was
// said until then, so whoever looks for the first event that counts passes over such beginnings.

import type { SseEvent } from "../dialects/dialect.ts";
import { endOfFrame, endOfFrames, FrameCutter, frameOf } from "./sse.ts";

/** Fresh for each stream: whether an event, told in its order, says no more than that an answer begins. */
export type BeginningReader = () => (event: SseEvent) => boolean;

/**
 * No more is waited for than this. A response begins by saying all its tools and instructions twice, and agents have a hundred
 * kilobytes of them.
 */
export const openingBytesMax = 512 * 1024;

/** Looks for the first event that counts, as a stream comes. */
export class StreamOpening {
  readonly #onlyBegins: ReturnType<BeginningReader>;
  readonly #cutter = new FrameCutter();
  #unread: Uint8Array[] = [];

  constructor(createReader: BeginningReader = noBeginning) {
    this.#onlyBegins = createReader();
  }

  /** Undefined while it has not come. A body that is whole may end without the blank line that ends its last event. */
  add(piece: Uint8Array, isWhole: boolean): SseEvent | undefined {
    this.#unread.push(piece);
    // Only the end of a line ends an event, so what comes letter by letter is not joined with every letter.
    if (!isWhole && !endsLine(piece)) return undefined;
    const come = this.#cutter.push(Buffer.concat(this.#unread));
    this.#unread = [];
    return this.#firstIn(come) ?? (isWhole ? this.#firstIn(this.#cutter.rest()) : undefined);
  }

  #firstIn(frames: Uint8Array): SseEvent | undefined {
    return frames.length === 0 ? undefined : firstThatCounts(frames, this.#onlyBegins);
  }
}

/** The same for a body that has come whole. */
export function openingOf(
  body: Uint8Array,
  createReader: BeginningReader = noBeginning,
): SseEvent | undefined {
  const begun = body.subarray(0, openingBytesMax);
  const isAll = begun.length === body.length;
  const events = isAll ? begun : begun.subarray(0, endOfFrames(begun, -1));
  return firstThatCounts(events, createReader()) ?? (isAll ? undefined : firstThatCounts(body, isNone));
}

/** Comments are passed over, too. */
function firstThatCounts(frames: Uint8Array, onlyBegins: ReturnType<BeginningReader>): SseEvent | undefined {
  const text = Buffer.from(frames.buffer, frames.byteOffset, frames.length).toString();
  for (let start = 0, next = 0; start < text.length; start = next) {
    next = endOfFrame(text, start);
    const { event } = frameOf(text.slice(start, next));
    if (event && !onlyBegins(event)) return event;
  }
  return undefined;
}

const isNone = (): boolean => false;
const noBeginning: BeginningReader = () => isNone;

const endsLine = (piece: Uint8Array): boolean => piece.includes(0x0a) || piece.includes(0x0d);
