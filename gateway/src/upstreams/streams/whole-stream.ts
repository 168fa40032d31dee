import type { SseEvent } from "../dialects/dialect.ts";
import type { HttpStream, StreamEnding, StreamReader } from "../http/http-stream.ts";
import { openingOf, type BeginningReader } from "./stream-opening.ts";

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
  readonly #patienceMs: number;
  /** Until all of it is handed over. */
  #reader: StreamReader | undefined;
  #start = 0;
  #isPaused = false;
  #isNextDue = false;
  #isPatient = true;
  #patience: NodeJS.Timeout | undefined;

  constructor(status: number, body: Uint8Array, patienceMs = 30_000) {
    this.status = status;
    this.#body = body;
    this.#patienceMs = patienceMs;
  }

  opening(beginnings: BeginningReader | undefined): SseEvent | undefined {
    return openingOf(this.#body, beginnings);
  }

  start(reader: StreamReader): void {
    this.#reader = reader;
    if (!this.#isPaused) this.#handOver(reader);
  }

  /**
   * Whoever reads slowly is waited for, but only for a while: no upstream that ends it stands behind this. What is left
   * then is kept by the caller's connection, like any answer that came whole.
   */
  pause(): void {
    if (!this.#isPatient) return;
    this.#isPaused = true;
    this.#patience ??= setTimeout(() => this.leave(), this.#patienceMs).unref();
  }

  resume(): void {
    this.#isPaused = false;
    this.#goOn();
  }

  /** Nothing is left open by it, so it is read to its end, where it says what was used. */
  leave(): void {
    this.#isPatient = false;
    this.resume();
  }

  #goOn(): void {
    if (this.#isPaused || this.#isNextDue) return;
    this.#isNextDue = true;
    setImmediate(() => {
      this.#isNextDue = false;
      if (this.#reader && !this.#isPaused) this.#handOver(this.#reader);
    });
  }

  #handOver(reader: StreamReader): void {
    const piece = this.#body.subarray(this.#start, this.#start + pieceBytes);
    this.#start += piece.length;
    try {
      if (piece.length > 0) reader.onPiece(piece);
    } catch {
      // What it could not read must not be counted as passed.
      this.#end(reader, "broken");
      return;
    }
    if (this.#start < this.#body.length) this.#goOn();
    else if (!this.#isPaused) this.#end(reader, "whole");
  }

  #end(reader: StreamReader, ending: StreamEnding): void {
    this.#reader = undefined;
    this.#isPatient = false;
    clearTimeout(this.#patience);
    reader.onEnd(ending);
  }
}

/** As much as a socket usually gives at once. */
const pieceBytes = 64 * 1024;

const openingBrace = 0x7b;
const lookedAtBytes = 64;
const beginsLikeEvents = /^\s*(?:(?:data|event|id|retry) ?:|:)/;
const start = new TextDecoder();
