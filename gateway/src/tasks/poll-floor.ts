/** How fast one caller may ask about one task: twice a second. */
export interface PollFloor {
  /** Undefined when the question may be asked now, else how long to wait. */
  readonly waitMs: (caller: string, taskId: string) => number | undefined;
}

export const pollsPerSecond = 2;
const windowMs = 1_000;

/** Keeps the last questions of a second; what is older is swept, so it grows with the rate and not with time. */
export function createPollFloor(monotonicMs: () => number): PollFloor {
  const asked = new Map<string, number[]>();
  let sweptAtMs = monotonicMs();
  const sweep = (nowMs: number): void => {
    sweptAtMs = nowMs;
    for (const [name, times] of asked) if ((times.at(-1) ?? 0) + windowMs <= nowMs) asked.delete(name);
  };
  return {
    waitMs: (caller, taskId) => {
      const nowMs = monotonicMs();
      if (nowMs - sweptAtMs > windowMs) sweep(nowMs);
      const name = `${caller} ${taskId}`;
      const recent = (asked.get(name) ?? []).filter((atMs) => atMs + windowMs > nowMs);
      const [first = nowMs] = recent;
      if (recent.length >= pollsPerSecond) return first + windowMs - nowMs;
      asked.set(name, [...recent, nowMs]);
      return undefined;
    },
  };
}
