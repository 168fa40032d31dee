// A body in chunks, as it arrives in whatever pieces. Everything between the chunks is left out.

import { partOf } from "./buffer-part.ts";

/** A line that gives a chunk's size is a few bytes, and trailers are rare: nothing there may go on without end. */
const framingBytesMax = 16 * 1024;
/**
 * Nothing else counts what stands between the chunks and carries no data: in all it may be this much, plus as much as the
 * data.
 */
const paddingBytesMax = 16 * 1024;
/** More than anybody sends, and far from where numbers lose their units. */
const chunkBytesMax = 2 ** 48;

type Awaits =
  | "size"
  | "more size"
  | "end of extension"
  | "LF of size"
  | "data"
  | "CR of data"
  | "LF of data"
  | "trailer"
  | "end of trailer"
  | "LF of trailer"
  | "LF of body"
  | "nothing";

export class ChunkedBody {
  #awaits: Awaits = "size";
  /** The size of the chunk as far as it is read; then, how much of the chunk is still to come. */
  #left = 0;
  #framingBytes = 0;
  #paddingBytes = 0;
  #dataBytes = 0;
  #isMalformed = false;
  /** How much of the last piece lay behind the body's end. */
  excessBytes = 0;

  get hasEnded(): boolean {
    return this.#awaits === "nothing";
  }

  get isMalformed(): boolean {
    return this.#isMalformed;
  }

  /**
   * Takes the next piece, and gives what it holds of the body's data. The piece belongs to the body from then on: where it
   * holds several chunks, they are moved together within it.
   */
  take(piece: Buffer): Buffer {
    let start = 0;
    let end = 0;
    let at = 0;
    while (at < piece.length && this.#awaits !== "nothing") {
      at = this.#skipUsual(piece, at);
      if (this.#awaits === "data") {
        const length = Math.min(this.#left, piece.length - at);
        if (end === start) {
          start = at;
          end = at + length;
        } else {
          piece.copyWithin(end, at, at + length);
          end += length;
        }
        at += length;
        this.#left -= length;
        this.#dataBytes += length;
        if (this.#left === 0) this.#awaits = "CR of data";
        continue;
      }
      if (at === piece.length) break;
      this.#step(piece[at] ?? 0);
      if (this.#isMalformed) break;
      at++;
    }
    this.excessBytes = piece.length - at;
    return partOf(piece, start, end, copiedBytesMax);
  }

  /**
   * What stands between two chunks is nearly always a line end, a size and a line end, all in one piece. Whatever is not
   * exactly that is left to be read step by step.
   */
  #skipUsual(piece: Buffer, start: number): number {
    let at = start;
    if (this.#awaits === "CR of data" && piece[at] === CR && piece[at + 1] === LF) {
      this.#awaits = "size";
      at += 2;
    }
    if (this.#awaits !== "size") return at;
    let size = 0;
    let end = at;
    for (let digit = hexDigit(piece[end]); digit >= 0 && end < at + 8; digit = hexDigit(piece[++end])) {
      size = size * 16 + digit;
    }
    if (size === 0 || piece[end] !== CR || piece[end + 1] !== LF) return at;
    this.#left = size;
    this.#awaits = "data";
    return end + 2;
  }

  #step(byte: number): void {
    this.#framingBytes++;
    if (this.#framingBytes > framingBytesMax) this.#isMalformed = true;
    switch (this.#awaits) {
      case "size":
        this.#addDigit(byte);
        this.#awaits = "more size";
        break;
      case "more size":
        if (byte === CR) this.#awaits = "LF of size";
        else if (byte === semicolon || byte === space || byte === tab) this.#awaits = "end of extension";
        else this.#addDigit(byte);
        break;
      case "end of extension":
        this.#skip(byte, "LF of size");
        break;
      case "LF of size":
        this.#expect(LF, byte, this.#left === 0 ? "trailer" : "data");
        this.#framingBytes = 0;
        break;
      case "CR of data":
        this.#expect(CR, byte, "LF of data");
        break;
      case "LF of data":
        this.#expect(LF, byte, "size");
        this.#framingBytes = 0;
        break;
      case "trailer":
        if (byte === CR) this.#awaits = "LF of body";
        else {
          this.#awaits = "end of trailer";
          this.#skip(byte, "LF of trailer");
        }
        break;
      case "end of trailer":
        this.#skip(byte, "LF of trailer");
        break;
      case "LF of trailer":
        this.#expect(LF, byte, "trailer");
        break;
      case "LF of body":
        this.#expect(LF, byte, "nothing");
        break;
      case "data":
      case "nothing":
    }
  }

  #addDigit(byte: number): void {
    const digit = hexDigit(byte);
    if (digit === 0 && this.#left === 0) this.#pad();
    this.#left = this.#left * 16 + digit;
    if (digit < 0 || this.#left > chunkBytesMax) this.#isMalformed = true;
  }

  /** Leaves out what is of no interest up to the line's end. */
  #skip(byte: number, atItsEnd: Awaits): void {
    this.#pad();
    if (byte === CR) this.#awaits = atItsEnd;
    else if ((byte < space && byte !== tab) || byte === del) this.#isMalformed = true;
  }

  #pad(): void {
    this.#paddingBytes++;
    if (this.#paddingBytes > paddingBytesMax + this.#dataBytes) this.#isMalformed = true;
  }

  #expect(expected: number, byte: number, then: Awaits): void {
    if (byte === expected) this.#awaits = then;
    else this.#isMalformed = true;
  }
}

const copiedBytesMax = 1_024;

/** -1 for a character that is not a digit. */
function hexDigit(byte = 0): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

const tab = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const space = 0x20;
const semicolon = 0x3b;
const del = 0x7f;
