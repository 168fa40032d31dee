import type { RequestLimiter } from "../limits/request-limiter.ts";
import { createSlidingMinute, type SlidingMinute } from "../limits/sliding-minute.ts";

const sweepEveryMs = 60_000;

/** The limiter of a single process. Keys that fell silent for a minute are forgotten. */
export function createMemoryRequestLimiter(monotonicMs: () => number): RequestLimiter {
  const minutes = new Map<string, SlidingMinute>();
  let sweptAtMs = monotonicMs();

  const sweep = (nowMs: number): void => {
    sweptAtMs = nowMs;
    for (const [keyId, minute] of minutes) if (minute.isEmpty(nowMs)) minutes.delete(keyId);
  };

  return {
    take: (keyId, limit) => {
      const nowMs = monotonicMs();
      if (nowMs - sweptAtMs > sweepEveryMs) sweep(nowMs);
      let minute = minutes.get(keyId);
      if (!minute) minutes.set(keyId, (minute = createSlidingMinute()));

      const remaining = minute.remaining(limit, nowMs);
      const admitted = remaining >= 1;
      if (admitted) minute.add(1, nowMs);
      return {
        admitted,
        limit,
        remaining: Math.max(0, admitted ? remaining - 1 : remaining),
        resetsInMs: minute.oldestLeavesAtMs(nowMs) - nowMs,
        retryInMs: admitted ? 0 : (minute.fitsAtMs(1, limit, nowMs) ?? sweepEveryMs) - nowMs,
      };
    },
  };
}
