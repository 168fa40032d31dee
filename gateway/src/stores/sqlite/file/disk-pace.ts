/** Longer than a commit takes on a local disk, and too short for a caller to notice. */
const slowMs = 1;
/** One slow commit may have copied pages from the log, or lost its turn on a busy machine. */
const slowInARowMin = 3;
/** How soon to look again whether the disk is quick; the look itself keeps everybody waiting. */
const looksEveryMs = 10_000;

/** Whether the disk is so slow that only those who need it should wait for it, and nobody else. */
export class DiskPace {
  readonly #monotonicMs: () => number;
  #slowInARow = 0;
  #slowUntilMs = Number.NEGATIVE_INFINITY;

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  isSlow(): boolean {
    return this.#slowInARow >= slowInARowMin && this.#monotonicMs() < this.#slowUntilMs;
  }

  /** Does what waits for the disk, and remembers how long that took. */
  watch(commit: () => void): void {
    const startedMs = this.#monotonicMs();
    commit();
    const nowMs = this.#monotonicMs();
    if (nowMs - startedMs < slowMs) this.#slowInARow = 0;
    else if (++this.#slowInARow >= slowInARowMin) this.#slowUntilMs = nowMs + looksEveryMs;
  }
}
