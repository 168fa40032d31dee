/** Wall time dates things; monotonic time measures them. A stepped wall clock must never change a duration. */
export interface Clock {
  readonly wallMs: () => number;
  readonly monotonicMs: () => number;
}

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};
