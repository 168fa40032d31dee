/**
 * Room for all bodies that are on their way, to us or to an upstream. They come before a call is priced or paid for, so whoever
 * sends many large ones and ends none would fill the memory, with an empty account, too; and an upstream that does not answer
 * would let those fill it that were paid for.
 */
export class BodyRoom {
  #freeBytes: number;
  readonly #takenBytes = new Map<string, number>();

  constructor(bytes: number = 256 * 1024 * 1024) {
    this.#freeBytes = bytes;
  }

  /** The most that this account may have on its way by now: no more than is left for all others, so some always is. */
  shareOf(accountId: string): number {
    return Math.floor((this.#freeBytes + this.#takenBy(accountId)) / 2);
  }

  take(accountId: string, bytes: number): boolean {
    const taken = this.#takenBy(accountId) + bytes;
    if (taken > this.shareOf(accountId)) return false;
    this.#freeBytes -= bytes;
    this.#takenBytes.set(accountId, taken);
    return true;
  }

  giveBack(accountId: string, bytes: number): void {
    const taken = this.#takenBy(accountId) - bytes;
    this.#freeBytes += bytes;
    if (taken > 0) this.#takenBytes.set(accountId, taken);
    else this.#takenBytes.delete(accountId);
  }

  #takenBy(accountId: string): number {
    return this.#takenBytes.get(accountId) ?? 0;
  }
}
