import type { PeerSocket } from "./peer-socket.ts";

/** A peer that has no more than this left to take may be as slow as it likes, as long as there is room. */
const unhurriedBytes = 4 * 1024 ** 2;
/**
 * Whoever has more takes at least this much of it in this time. A phone at one megabit a second takes 3.75 MB, of which we
 * hear in steps: the kernel asks for more when a third of what it keeps itself, which is up to 4 MB, has left.
 */
const paceBytes = 1024 ** 2;
const paceSeconds = 30;

/**
 * What a peer has yet to take of its answer, and at which pace it does. There is room behind it for more, or else whoever
 * adds piece by piece would have everything copied for each.
 */
export class Unsent {
  #kept: Uint8Array;
  #start: number;
  #end: number;
  #seconds = 0;
  #takenBytes = 0;

  /** The bytes are kept as they are, not copied: they do not change any more. */
  constructor(bytes: Uint8Array, start: number) {
    this.#kept = bytes;
    this.#start = start;
    this.#end = bytes.length;
  }

  get bytes(): number {
    return this.#end - this.#start;
  }

  /** What it takes of the memory. */
  get keptBytes(): number {
    return this.#kept.length;
  }

  /** For how long there has been something to take. */
  get seconds(): number {
    return this.#seconds;
  }

  add(bytes: Uint8Array): void {
    const { length } = bytes;
    if (this.#end + length > this.#kept.length)
      this.#moveTo(Buffer.allocUnsafe(Math.max(2 * this.bytes, this.bytes + length)));
    this.#kept.set(bytes, this.#end);
    this.#end += length;
  }

  /** Returns how many bytes the socket took, or a negative number when the peer is gone. */
  writeTo(socket: PeerSocket): number {
    const written = socket.write(this.#kept, this.#start, this.bytes);
    if (written <= 0) return written;
    this.#start += written;
    this.#takenBytes += written;
    // The little that is left of a large answer must not keep all of it.
    if (this.bytes <= this.#kept.length / 4) this.#moveTo(Buffer.allocUnsafe(this.bytes));
    return written;
  }

  /** Another second has passed. True when much is left and too little of it was taken. */
  tick(): boolean {
    this.#seconds++;
    if (this.#seconds % paceSeconds > 0) return false;
    const isTooSlow = this.bytes > unhurriedBytes && this.#takenBytes < paceBytes;
    this.#takenBytes = 0;
    return isTooSlow;
  }

  #moveTo(room: Uint8Array): void {
    room.set(this.#kept.subarray(this.#start, this.#end));
    this.#kept = room;
    this.#end = this.bytes;
    this.#start = 0;
  }
}
