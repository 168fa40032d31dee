/** Wall time dates things; monotonic time measures them. A stepped wall clock must never change a duration. */
export interface Clock {
  readonly wallMs: () => number;
  readonly monotonicMs: () => number;
}

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};

/** How times are written for programs. */
export const isoTime = (ms: number): string => new Date(ms).toISOString();

/** How times are written for people: to the minute, and in which zone. */
export const dayAndMinute = (ms: number): string => `${isoTime(ms).slice(0, 16).replace("T", " ")} UTC`;
