/** Somebody for whom an answer is kept until they take it. */
export interface Unread {
  readonly keptBytes: number;
  readonly keptSeconds: number;
  /** Breaks the answer off; nothing is kept of it then. */
  readonly terminate: () => void;
}

/**
 * Room for all answers that their callers have yet to take. They are paid for and done, so whoever asks for many large ones
 * and reads none would fill the memory.
 */
export class UnreadRoom {
  readonly #bytesMax: number;
  /** Those that took room when it was looked at last. */
  readonly #keeping = new Set<Unread>();

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** More is kept for somebody than before. Says how many had to be broken off for it. */
  keep(unread: Unread): number {
    if (roomOf(unread) === 0) return 0;
    this.#keeping.add(unread);
    let takenBytes = 0;
    for (const each of this.#keeping) {
      const bytes = roomOf(each);
      if (bytes === 0) this.#keeping.delete(each);
      takenBytes += bytes;
    }
    return takenBytes > this.#bytesMax ? this.#breakOff(takenBytes - this.#bytesMax) : 0;
  }

  leave(unread: Unread): void {
    this.#keeping.delete(unread);
  }

  /** Begins with those for whom the most was kept for the longest: a peer that reads has less left every second. */
  #breakOff(bytes: number): number {
    let [count, freedBytes] = [0, 0];
    for (const unread of [...this.#keeping].toSorted((one, other) => burdenOf(other) - burdenOf(one))) {
      if (freedBytes >= bytes) break;
      freedBytes += roomOf(unread);
      unread.terminate();
      count++;
    }
    return count;
  }
}

/** This much is free for everybody: many streams are this far behind at once, and nearly every answer is smaller. */
const freeBytes = 256 * 1024;

const roomOf = ({ keptBytes }: Unread): number => Math.max(0, keptBytes - freeBytes);

const burdenOf = (unread: Unread): number => roomOf(unread) * (unread.keptSeconds + 1);
