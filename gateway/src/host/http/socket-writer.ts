import type { PeerSocket } from "./peer-socket.ts";
import { Unsent } from "./unsent.ts";

interface Owner {
  /** The peer is gone, whether or not the socket says so by itself. */
  readonly terminate: () => void;
}

/** Writes answers to one peer, and keeps what the kernel does not take at once. */
export class SocketWriter {
  readonly #socket: PeerSocket;
  readonly #owner: Owner;
  #unsent: Unsent | undefined;
  #behind: PromiseWithResolvers<void> | undefined;
  /** The head of an answer in pieces, until it is sent with the first of them. */
  #headToWrite = "";
  #isChunked = false;

  constructor(socket: PeerSocket, owner: Owner) {
    this.#socket = socket;
    this.#owner = owner;
  }

  /** Whether the peer has yet to take something. */
  get isBehind(): boolean {
    return this.#unsent !== undefined;
  }

  /** What is kept in memory until the peer takes it. */
  get keptBytes(): number {
    return this.#unsent?.keptBytes ?? 0;
  }

  /** For how long the peer has had something to take. */
  get behindSeconds(): number {
    return this.#unsent?.seconds ?? 0;
  }

  write(bytes: string | Uint8Array): void {
    if (this.#unsent) this.#unsent.add(bytesOf(bytes));
    else {
      const written = this.#socket.write(bytes);
      const size = typeof bytes === "string" ? Buffer.byteLength(bytes) : bytes.length;
      if (written < 0) this.#owner.terminate();
      else if (written < size) this.#unsent = new Unsent(bytesOf(bytes), written);
    }
  }

  writeWhole(head: string, body: string | Uint8Array): void {
    if (typeof body === "string") this.write(head + body);
    else if (head.length + body.length <= scratch.length) {
      // One copy costs less than a second way into the kernel.
      scratch.write(head, 0, "latin1");
      scratch.set(body, head.length);
      this.#writeFrom(scratch, head.length + body.length);
    } else {
      this.write(head);
      this.write(body);
    }
  }

  beginPieces(head: string, isChunked: boolean): void {
    this.#headToWrite = head;
    this.#isChunked = isChunked;
  }

  /** The head is sent with the first one, even when that is empty. */
  writePiece(piece: string | Uint8Array): void {
    const head = this.#headToWrite;
    this.#headToWrite = "";
    // A chunk of no length would end the body.
    if (this.#isChunked && piece.length > 0) this.#writeChunk(piece, head);
    else {
      if (head !== "") this.write(head);
      if (piece.length > 0) this.write(piece);
    }
  }

  endPieces(): void {
    this.write(this.#headToWrite + (this.#isChunked ? "0\r\n\r\n" : ""));
    this.#headToWrite = "";
  }

  /** Undefined when everything was taken. Fails when the peer leaves. */
  taken(): Promise<void> | undefined {
    if (!this.#unsent) return undefined;
    this.#behind ??= Promise.withResolvers<void>();
    return this.#behind.promise;
  }

  /** The peer can take more: how much it took. */
  drain(): number {
    const unsent = this.#unsent;
    if (!unsent) return 0;
    const written = unsent.writeTo(this.#socket);
    if (written < 0) {
      this.#owner.terminate();
      return 0;
    }
    if (unsent.bytes === 0) {
      this.#unsent = undefined;
      this.#behind?.resolve();
      this.#behind = undefined;
    }
    return written;
  }

  /** Another second has passed. True when the peer is far behind and too slow. */
  tick(): boolean {
    return this.#unsent !== undefined && this.#unsent.tick();
  }

  lose(why: Error): void {
    this.#unsent = undefined;
    // Whoever waits is told; if nobody does, nobody has to be.
    this.#behind?.promise.catch(() => {});
    this.#behind?.reject(why);
    this.#behind = undefined;
  }

  /** Assembled as whole answers are in one buffer that is used again: a stream has hundreds of chunks. */
  #writeChunk(piece: string | Uint8Array, before: string): void {
    const size = typeof piece === "string" ? Buffer.byteLength(piece) : piece.length;
    const most = before.length + sizeLineBytesMax + size + 2;
    const frame = most > scratch.length ? Buffer.allocUnsafe(most) : scratch;
    if (before !== "") frame.write(before, 0, "latin1");
    const start = writeSizeLine(frame, before.length, size);
    if (typeof piece === "string") frame.write(piece, start, "utf8");
    else frame.set(piece, start);
    const end = start + size;
    frame[end] = CR;
    frame[end + 1] = LF;
    this.#writeFrom(frame, end + 2);
  }

  /** Writes the beginning of a buffer that is filled anew afterwards. */
  #writeFrom(frame: Buffer, size: number): void {
    const written = this.#unsent ? 0 : this.#socket.write(frame, 0, size);
    if (written < 0) this.#owner.terminate();
    else if (written < size) this.#keep(Buffer.from(frame.subarray(written, size)));
  }

  #keep(rest: Uint8Array): void {
    if (this.#unsent) this.#unsent.add(rest);
    else this.#unsent = new Unsent(rest, 0);
  }
}

const scratch = Buffer.allocUnsafe(64 * 1024);
const CR = 0x0d;
const LF = 0x0a;

/** Eight digits and the line's end. */
const sizeLineBytesMax = 10;

/** Byte by byte, because making a text takes longer. Returns where the line ends. */
function writeSizeLine(frame: Buffer, start: number, size: number): number {
  let at = start;
  let shift = 28;
  while (shift > 0 && size >>> shift === 0) shift -= 4;
  for (; shift >= 0; shift -= 4) {
    const digit = (size >>> shift) & 0xf;
    frame[at++] = digit < 10 ? 0x30 + digit : 0x57 + digit;
  }
  frame[at++] = CR;
  frame[at++] = LF;
  return at;
}

const bytesOf = (bytes: string | Uint8Array): Uint8Array =>
  typeof bytes === "string" ? Buffer.from(bytes) : bytes;
