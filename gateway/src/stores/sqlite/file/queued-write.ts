/** A write that waits for its transaction, whatever it is called with and results in. */
export interface QueuedWrite {
  /** Writes inside the open transaction, and keeps the result. */
  readonly run: () => void;
  /** Tells the result of the last run to whoever waits for it. */
  readonly tell: () => void;
  readonly fail: (error: unknown) => void;
  /**
   * Whether its patience has ended. That is counted from when another process was first in its way, which is when this is
   * first asked: no clock is read for a write that nobody delays.
   */
  readonly isLate: (nowMs: number) => boolean;
}

/** A write whose result somebody waits for: every call has one for its hold and one for its end. */
export class PromisedWrite<Argument, Result> implements QueuedWrite {
  readonly #argument: Argument;
  readonly #write: (argument: Argument) => Result;
  readonly #waiting = Promise.withResolvers<Result>();
  readonly #patienceMs: number;
  #deadlineMs: number | undefined;
  /** Set by `run`, which comes before `tell`. */
  #result!: Result;

  constructor(argument: Argument, write: (argument: Argument) => Result, patienceMs: number) {
    this.#argument = argument;
    this.#write = write;
    this.#patienceMs = patienceMs;
  }

  get answer(): Promise<Result> {
    return this.#waiting.promise;
  }

  run(): void {
    this.#result = this.#write(this.#argument);
  }

  tell(): void {
    this.#waiting.resolve(this.#result);
  }

  fail(error: unknown): void {
    this.#waiting.reject(error);
  }

  isLate(nowMs: number): boolean {
    this.#deadlineMs ??= nowMs + this.#patienceMs;
    return this.#deadlineMs <= nowMs;
  }
}
