/** Time, as an argument: tests bring a clock that only they move. */
export interface Clock {
  readonly nowMs: () => number;
  /** Resolves after the time, or rejects at once when the signal fires. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      const stop = (): void => {
        clearTimeout(timer);
        reject(signal?.reason instanceof Error ? signal.reason : new Error("aborted"));
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", stop);
        resolve();
      }, ms);
      if (signal?.aborted === true) return stop();
      signal?.addEventListener("abort", stop, { once: true });
    }),
};
