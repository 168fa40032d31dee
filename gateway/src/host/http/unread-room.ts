/** Somebody for whom an answer is kept until they take it. */
export interface Unread {
  readonly keptBytes: number;
  /** For how long there has been something to take. */
  readonly behindSeconds: number;
  /** Whose answer it is; undefined where nobody knows. */
  readonly owner: string | undefined;
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
    let count = 0;
    for (; takenBytes > this.#bytesMax; count++) takenBytes -= this.#breakOffOne();
    return count;
  }

  leave(unread: Unread): void {
    this.#keeping.delete(unread);
  }

  /**
   * One of the owner for whom the most is kept, so that nobody loses an answer because others read less than they do; and of
   * that owner's the one that has kept the most for the longest: a peer that reads has less left every second. Returns the
   * room that it had.
   */
  #breakOffOne(): number {
    let most: Unread[] = [];
    for (const kept of Map.groupBy(this.#keeping, ({ owner }) => owner).values())
      if (bytesOf(kept) > bytesOf(most)) most = kept;
    const [heaviest] = most.toSorted((one, other) => burdenOf(other) - burdenOf(one));
    if (!heaviest) throw new Error("Room is taken, and nobody has it.");
    const bytes = roomOf(heaviest);
    this.#keeping.delete(heaviest);
    heaviest.terminate();
    return bytes;
  }
}

/** This much is free for everybody: many streams are this far behind at once, and nearly every answer is smaller. */
const freeBytes = 256 * 1024;

const roomOf = ({ keptBytes }: Unread): number => Math.max(0, keptBytes - freeBytes);

const bytesOf = (kept: readonly Unread[]): number =>
  kept.reduce((bytes, unread) => bytes + roomOf(unread), 0);

const burdenOf = (unread: Unread): number => roomOf(unread) * (unread.behindSeconds + 1);
