import { partOf } from "../../platform/buffer-part.ts";
import { ChunkedBody } from "../../platform/chunked-body.ts";
import { readResponseHead, type ResponseHead } from "./response-head.ts";

/** Twice what Node and nginx allow; a head without end must not fill the memory. */
const headBytesMax = 128 * 1024;

/**
 * Reads one answer out of the bytes of a connection, in whatever pieces they come. It knows nothing of connections: it is
 * given pieces, and told when there are no more.
 */
export class ResponseReader {
  /** Known as soon as it has come whole; interim answers before it are left out. */
  head: ResponseHead | undefined;
  state: "head" | "body" | "whole" | "malformed" = "head";
  /** Bytes came behind the answer's end, which nobody asked for. */
  hasExcess = false;

  #begun: Buffer = nothing;
  /** Begins with what has begun and has space behind it, so that a head that comes byte by byte is not copied each time. */
  #room: Buffer = nothing;
  #chunks: ChunkedBody | undefined;
  /** What is still to come of a body that told its length; it goes on to the connection's end when this is undefined. */
  #left: number | undefined;

  /** Takes the next piece, which is the reader's from then on; gives what it holds of the body. */
  push(piece: Buffer): Buffer {
    if (this.state === "head") return this.#pushHead(piece);
    return this.state === "body" ? this.#pushBody(piece) : this.#pushBehind(piece);
  }

  /** The other side has ended the connection in good order, which ends a body that is framed by nothing else. */
  end(): void {
    if (this.state === "body" && this.#chunks === undefined && this.#left === undefined) this.state = "whole";
  }

  #pushHead(piece: Buffer): Buffer {
    const begunBytes = this.#begun.length;
    let bytes = begunBytes === 0 ? piece : this.#append(piece);
    // Its end may have begun in the last three bytes of what came before.
    let from = Math.max(0, begunBytes - 3);
    for (;;) {
      const end = bytes.indexOf(blankLine, from);
      if (end === -1) {
        this.#begun = bytes;
        // What came before was looked at when it came: a head may come byte by byte.
        return isHeadSoFar(bytes, from) ? nothing : this.#fail();
      }
      if (end > headBytesMax) return this.#fail();
      const head = readResponseHead(bytes.toString("latin1", 0, end + 2));
      if (!head) return this.#fail();
      bytes = partOf(bytes, end + 4, bytes.length, copiedBytesMax);
      this.#room = nothing;
      if (head.status >= 200) {
        this.#begun = nothing;
        return this.#begin(head, bytes);
      }
      from = 0;
    }
  }

  #append(piece: Buffer): Buffer {
    const bytes = this.#begun.length + piece.length;
    if (bytes > this.#room.length) {
      this.#room = Buffer.allocUnsafe(2 * bytes);
      this.#room.set(this.#begun);
    }
    this.#room.set(piece, this.#begun.length);
    return this.#room.subarray(0, bytes);
  }

  #begin(head: ResponseHead, bytes: Buffer): Buffer {
    this.head = head;
    const { status, chunked, contentLength } = head;
    if (status === 204 || status === 304 || contentLength === 0) {
      this.state = "whole";
      return this.#pushBehind(bytes);
    }
    this.state = "body";
    if (chunked) this.#chunks = new ChunkedBody();
    else this.#left = contentLength;
    return bytes.length === 0 ? nothing : this.#pushBody(bytes);
  }

  #pushBody(piece: Buffer): Buffer {
    if (this.#chunks) return this.#pushChunks(this.#chunks, piece);
    if (this.#left === undefined) return piece;
    if (piece.length < this.#left) {
      this.#left -= piece.length;
      return piece;
    }
    const length = this.#left;
    this.state = "whole";
    if (piece.length === length) return piece;
    this.hasExcess = true;
    return piece.subarray(0, length);
  }

  #pushChunks(chunks: ChunkedBody, piece: Buffer): Buffer {
    const data = chunks.take(piece);
    if (chunks.isMalformed) this.state = "malformed";
    else if (chunks.hasEnded) {
      this.state = "whole";
      this.hasExcess = chunks.excessBytes > 0;
    }
    return data;
  }

  #pushBehind(piece: Buffer): Buffer {
    this.hasExcess ||= piece.length > 0;
    return nothing;
  }

  #fail(): Buffer {
    this.state = "malformed";
    this.#begun = nothing;
    this.#room = nothing;
    return nothing;
  }
}

const nothing = Buffer.alloc(0);
/** A longer body stays where it is, in what its head came with. */
const copiedBytesMax = 16 * 1024;
const blankLine = Buffer.from("\r\n\r\n");

/** What is not HTTP is told at once, because nobody knows whether more of it will come. */
function isHeadSoFar(bytes: Buffer, from: number): boolean {
  // The first three bytes of the blank line may be here already.
  if (bytes.length > headBytesMax + 3) return false;
  for (let at = 0; at < Math.min(bytes.length, beginning.length); at++) {
    if (bytes[at] !== beginning[at]) return false;
  }
  for (let at = bytes.indexOf(LF, from); at !== -1; at = bytes.indexOf(LF, at + 1)) {
    if (bytes[at - 1] !== CR) return false;
  }
  return true;
}

const beginning = Buffer.from("HTTP/1.");
const LF = 0x0a;
const CR = 0x0d;
