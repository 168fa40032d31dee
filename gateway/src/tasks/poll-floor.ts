/** How fast one caller may ask about one task, and how fast it may ask for its end: twice a second each. */
export interface PollFloor {
  /** How long to wait; undefined when the question may be asked now. */
  readonly waitMs: (caller: string, taskId: string, about: "state" | "cancel") => number | undefined;
}

export const asksPerSecond = 2;
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
    waitMs: (caller, taskId, about) => {
      const nowMs = monotonicMs();
      if (nowMs - sweptAtMs > windowMs) sweep(nowMs);
      const name = `${caller} ${taskId} ${about}`;
      const recent = (asked.get(name) ?? []).filter((atMs) => atMs + windowMs > nowMs);
      const [first = nowMs] = recent;
      if (recent.length >= asksPerSecond) return first + windowMs - nowMs;
      asked.set(name, [...recent, nowMs]);
      return undefined;
    },
  };
}
