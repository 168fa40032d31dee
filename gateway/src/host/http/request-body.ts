import { ChunkedBody } from "../../platform/chunked-body.ts";
import type { RequestHead } from "./request-head.ts";

/** Where a body comes from. */
interface Source {
  /** Somebody wants more of it. */
  readonly onWanted: () => void;
}

/** A body that did not come with its head, as it arrives. What nobody has asked for yet is kept, and the source told to wait. */
export class RequestBody implements AsyncIterable<Uint8Array> {
  keptBytes = 0;
  /** What came behind its end, and begins the next request. */
  excess: Buffer | undefined;
  /** Its chunks are malformed, so nobody can tell where it ends. */
  isMalformed = false;

  /** What is still to come, where its length was told. */
  #bytesLeft: number;
  /** What is still to come, where it was not. */
  #chunks: ChunkedBody | undefined;
  /** As its reader sees it. */
  #state: "arriving" | "whole" | "broken" = "arriving";
  #pieces: Uint8Array[] = [];
  #waiting: PromiseWithResolvers<void> | undefined;
  #isReadWhole = false;
  readonly #source: Source;

  constructor(source: Source, { contentLength, chunked }: RequestHead) {
    this.#source = source;
    this.#bytesLeft = contentLength;
    this.#chunks = chunked ? new ChunkedBody() : undefined;
  }

  /** Its end is still to come, whether or not anybody reads it. */
  get isArriving(): boolean {
    return this.#bytesLeft > 0 || this.#chunks !== undefined;
  }

  /** 0 where its length was not told. */
  get bytesLeft(): number {
    return this.#bytesLeft;
  }

  /** Somebody waits for more. */
  get isWanted(): boolean {
    return this.#isReadWhole || this.#waiting !== undefined;
  }

  /** The body's own bytes in a piece of the line. */
  take(piece: Buffer): Buffer {
    return this.#chunks ? this.#takeChunks(this.#chunks, piece) : this.#takeLength(piece);
  }

  /** Keeps these for whoever reads. */
  push(piece: Uint8Array): void {
    if (this.#state !== "arriving" || piece.length === 0) return;
    this.#pieces.push(piece);
    this.keptBytes += piece.length;
    this.#tell();
  }

  end(): void {
    if (this.#state === "arriving") this.#state = "whole";
    this.#tell();
  }

  /** The rest will not come, or nobody wants it any more. One that is whole stays so. */
  breakOff(): void {
    if (this.#state !== "arriving") return;
    this.#state = "broken";
    this.#pieces = [];
    this.keptBytes = 0;
    this.#tell();
  }

  async whole(): Promise<Uint8Array> {
    this.#isReadWhole = true;
    while (this.#state === "arriving") await this.#more();
    this.#refuseBroken();
    return Buffer.concat(this.#pieces.splice(0));
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (;;) {
      this.#refuseBroken();
      const pieces = this.#pieces.splice(0);
      this.keptBytes = 0;
      yield* pieces;
      if (this.#state === "whole" && this.#pieces.length === 0) return;
      if (this.#pieces.length === 0) await this.#more();
    }
  }

  #takeLength(piece: Buffer): Buffer {
    const taken = Math.min(piece.length, this.#bytesLeft);
    this.#bytesLeft -= taken;
    if (taken === piece.length) return piece;
    this.excess = piece.subarray(taken);
    return piece.subarray(0, taken);
  }

  #takeChunks(chunks: ChunkedBody, piece: Buffer): Buffer {
    const data = chunks.take(piece);
    if (chunks.isMalformed) {
      this.isMalformed = true;
      this.#chunks = undefined;
      this.breakOff();
    } else if (chunks.hasEnded) {
      this.#chunks = undefined;
      if (chunks.excessBytes > 0) this.excess = piece.subarray(piece.length - chunks.excessBytes);
    }
    return data;
  }

  async #more(): Promise<void> {
    this.#waiting ??= Promise.withResolvers<void>();
    this.#source.onWanted();
    await this.#waiting.promise;
  }

  #tell(): void {
    this.#waiting?.resolve();
    this.#waiting = undefined;
  }

  #refuseBroken(): void {
    if (this.#state === "broken")
      throw new DOMException("The body ended before it was complete.", "AbortError");
  }
}
