import type { Deadline, Deadlines, Waiting } from "../../platform/deadlines.ts";
import { endsBody, type Connection, type ConnectionUser } from "./connection.ts";
import type { ResponseReader } from "./response-reader.ts";

/** An answer that is still coming. Its pieces are pushed as they come, until the reader asks for a pause. */
export interface HttpStream {
  readonly kind: "streaming";
  readonly status: number;
  /** From now on the pieces are handed over; once. What came before was kept, and no more than a piece was taken. */
  readonly start: (reader: StreamReader) => void;
  /** Nothing more is handed over, or taken from the upstream, until `resume`. */
  readonly pause: () => void;
  readonly resume: () => void;
  /** Ends the connection; the reader is told that the stream broke, unless it had ended. */
  readonly leave: () => void;
}

export interface StreamReader {
  /** The piece is the reader's. */
  readonly onPiece: (piece: Uint8Array) => void;
  /** Comes once, last: the proper end, or the upstream fell silent, broke off, or was left, perhaps by a gateway that stops. */
  readonly onEnd: (ending: StreamEnding) => void;
}

export type StreamEnding = "whole" | "broken" | "gateway_stopped";

interface StreamLimits {
  /** How long an answer that has begun may be silent, where its request does not say. */
  readonly silenceTimeoutMs: number;
  /** How long a reader may be behind at a time, and how long a stream may last in all. */
  readonly pauseTimeoutMs: number;
  readonly streamTimeoutMs: number;
}

/** What has come of a stream when it begins, and how long it may be silent. */
interface BegunStream {
  readonly firstPiece: Uint8Array;
  readonly silenceTimeoutMs: number;
}

/** What all streams of a client share. */
export interface StreamParts {
  readonly limits: StreamLimits;
  readonly deadlines: Deadlines;
  /** Whether nobody is waited for any more, because the gateway stops. */
  readonly hasGivenUp: () => boolean;
  /** The answer is complete, and the connection is free. */
  readonly release: (connection: Connection, answer: ResponseReader) => void;
}

/** The body of an answer whose head has come. A class, because thousands may be open at once. */
export class ReceivedStream implements HttpStream, ConnectionUser, Waiting {
  readonly kind = "streaming";
  readonly status: number;

  readonly #connection: Connection;
  readonly #answer: ResponseReader;
  readonly #parts: StreamParts;
  readonly #silenceTimeoutMs: number;
  /** How long the upstream may be silent; while the reader is behind, how long the reader may. */
  readonly #silence: Deadline;
  readonly #lifetime: Deadline;
  #reader: StreamReader | undefined;
  #isPaused = false;
  /** What came while nobody took it. */
  #kept: Uint8Array[];
  #ending: StreamEnding | undefined;
  #hasTold = false;

  constructor(
    connection: Connection,
    answer: ResponseReader,
    { firstPiece, silenceTimeoutMs }: BegunStream,
    parts: StreamParts,
  ) {
    const { limits, deadlines } = parts;
    this.status = answer.head?.status ?? 0;
    this.#connection = connection;
    this.#answer = answer;
    this.#parts = parts;
    this.#kept = firstPiece.length === 0 ? [] : [firstPiece];
    this.#silenceTimeoutMs = silenceTimeoutMs;
    this.#silence = deadlines.set(silenceTimeoutMs, this);
    this.#lifetime = deadlines.set(limits.streamTimeoutMs, { onMissed: () => this.leave() });
    connection.user = this;
    this.#lookForEnd();
  }

  start(reader: StreamReader): void {
    this.#reader = reader;
    this.#handOver();
  }

  pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    if (this.#ending !== undefined) return;
    this.#connection.pause();
    // The upstream is kept waiting, so its silence says nothing; but nobody keeps it waiting for ever.
    const { deadlines, limits } = this.#parts;
    deadlines.move(this.#silence, limits.pauseTimeoutMs);
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    if (this.#ending === undefined) this.#waitForMore();
    this.#handOver();
  }

  leave(): void {
    this.#kept = [];
    this.#isPaused = false;
    this.#breakOff();
  }

  onReady(): void {}

  /** The upstream has fallen silent, or the reader has; then the reader gets no more, and is told. */
  onMissed(): void {
    if (this.#isPaused) this.leave();
    else this.#breakOff();
  }

  onBytes(bytes: Buffer): void {
    if (!this.#isPaused) this.#waitForMore();
    const piece = this.#answer.push(bytes);
    if (piece.length > 0) this.#take(piece);
    if (this.#ending === undefined) this.#lookForEnd();
  }

  onClosed(how: "ended" | "broken"): void {
    if (endsBody(how, this.#connection.origin)) this.#answer.end();
    this.#end(this.#answer.state === "whole" ? "whole" : "broken");
  }

  #take(piece: Uint8Array): void {
    if (this.#reader && !this.#isPaused) {
      this.#give(this.#reader, piece);
      return;
    }
    this.#kept.push(piece);
    this.#connection.pause();
  }

  #lookForEnd(): void {
    const { state } = this.#answer;
    if (state === "malformed") this.#breakOff();
    if (state !== "whole") return;
    this.#end("whole");
    this.#parts.release(this.#connection, this.#answer);
  }

  #breakOff(): void {
    if (this.#ending === undefined) this.#connection.close();
    this.#end(this.#parts.hasGivenUp() ? "gateway_stopped" : "broken");
  }

  #end(ending: StreamEnding): void {
    this.#ending ??= ending;
    this.#parts.deadlines.end(this.#silence);
    this.#parts.deadlines.end(this.#lifetime);
    this.#handOver();
  }

  /** Hands over what was kept, then the end if it has come; else more may come. */
  #handOver(): void {
    const reader = this.#reader;
    if (!reader) return;
    for (let piece = this.#next(); piece; piece = this.#next()) this.#give(reader, piece);
    if (this.#isPaused || this.#hasTold) return;
    if (this.#ending === undefined) {
      this.#connection.resume();
      return;
    }
    this.#hasTold = true;
    reader.onEnd(this.#ending);
  }

  /** A reader that fails gets no more: what it could not read must not be counted as passed. */
  #give(reader: StreamReader, piece: Uint8Array): void {
    try {
      reader.onPiece(piece);
    } catch {
      this.leave();
    }
  }

  #next(): Uint8Array | undefined {
    return this.#isPaused ? undefined : this.#kept.shift();
  }

  #waitForMore(): void {
    this.#parts.deadlines.move(this.#silence, this.#silenceTimeoutMs);
  }
}
