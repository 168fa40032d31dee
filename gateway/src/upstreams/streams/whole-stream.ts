import type { SseEvent } from "../dialects/dialect.ts";
import type { HttpStream, StreamReader } from "../http/http-stream.ts";
import { firstEventIn } from "./sse.ts";

/**
 * Whether a body is events: a proxy in between packed them or gave them another type, or a vendor sent them unasked. Nearly
 * every other body is an object, which its first byte shows.
 */
export const looksLikeEvents = (body: Uint8Array): boolean =>
  body[0] !== openingBrace && beginsLikeEvents.test(start.decode(body.subarray(0, lookedAtBytes)));

/**
 * Events that came as one body. They are passed on, and paid for, as the stream they are; in pieces, between which others
 * are served: to read millions of small events takes minutes.
 */
export class WholeStream implements HttpStream {
  readonly kind = "streaming";
  readonly status: number;
  readonly #body: Uint8Array;

  constructor(status: number, body: Uint8Array) {
    this.status = status;
    this.#body = body;
  }

  get opening(): SseEvent | undefined {
    // Nearly always it is short, and the rest need not be made a text for it.
    const begun = this.#body.subarray(0, pieceBytes);
    return firstEventIn(begun, false) ?? firstEventIn(this.#body, true);
  }

  start(reader: StreamReader): void {
    this.#handOver(reader, 0);
  }

  #handOver(reader: StreamReader, start: number): void {
    const end = start + pieceBytes;
    try {
      reader.onPiece(this.#body.subarray(start, end));
    } catch {
      // What it could not read must not be counted as passed.
      reader.onEnd("broken");
      return;
    }
    if (end < this.#body.length) setImmediate(() => this.#handOver(reader, end));
    else reader.onEnd("whole");
  }

  // All of it is there, so nobody is kept waiting and nothing is left open.
  pause(): void {}
  resume(): void {}
  leave(): void {}
}

/** As much as a socket usually gives at once. */
const pieceBytes = 64 * 1024;

const openingBrace = 0x7b;
const lookedAtBytes = 64;
const beginsLikeEvents = /^\s*(?:(?:data|event|id|retry) ?:|:)/;
const start = new TextDecoder();
