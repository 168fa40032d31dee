// A minute that slides, exactly: sixty-one one-second counters. The sixty-first covers the second that is
// only partly inside the window, so that no sixty seconds, wherever they begin, hold more than the limit.

const secondsKept = 61;

export interface SlidingMinute {
  /** Room for `amount` more at this moment. */
  readonly remaining: (limit: number, nowMs: number) => number;
  readonly add: (amount: number, nowMs: number) => void;
  /** Changes what was added at an earlier moment. When that counts no more, what is to be added counts from now on. */
  readonly correct: (by: number, addedAtMs: number, nowMs: number) => void;
  /** When the oldest counted amount leaves the window, in monotonic milliseconds; now when nothing counts. */
  readonly oldestLeavesAtMs: (nowMs: number) => number;
  /** When `amount` will fit under `limit` if nothing else is added; undefined when it never can. */
  readonly fitsAtMs: (amount: number, limit: number, nowMs: number) => number | undefined;
  readonly isEmpty: (nowMs: number) => boolean;
}

export function createSlidingMinute(): SlidingMinute {
  const counts = new Float64Array(secondsKept);
  let newestSecond = 0;
  /** Nothing older counts; what counts may be newer. */
  let oldestSecond = 0;
  let total = 0;

  const advanceTo = (nowMs: number): number => {
    const second = Math.floor(nowMs / 1000);
    if (second <= newestSecond) return newestSecond;
    const steps = Math.min(second - newestSecond, secondsKept);
    for (let step = 1; step <= steps; step++) {
      const slot = (newestSecond + step) % secondsKept;
      total -= counts[slot] ?? 0;
      counts[slot] = 0;
    }
    newestSecond = second;
    return second;
  };

  const leavesAtMs = (second: number): number => (second + secondsKept) * 1000;

  return {
    remaining: (limit, nowMs) => {
      advanceTo(nowMs);
      return limit - total;
    },
    add: (amount, nowMs) => {
      const slot = advanceTo(nowMs) % secondsKept;
      counts[slot] = (counts[slot] ?? 0) + amount;
      total += amount;
    },
    correct: (by, addedAtMs, nowMs) => {
      const now = advanceTo(nowMs);
      const addedAt = Math.floor(addedAtMs / 1000);
      if (addedAt > now) return;
      const isGone = addedAt <= now - secondsKept;
      if (isGone && by <= 0) return;
      const second = isGone ? now : addedAt;
      const slot = second % secondsKept;
      const before = counts[slot] ?? 0;
      const after = Math.max(0, before + by);
      counts[slot] = after;
      total += after - before;
      oldestSecond = Math.min(oldestSecond, second);
    },
    oldestLeavesAtMs: (nowMs) => {
      const now = advanceTo(nowMs);
      for (
        oldestSecond = Math.max(oldestSecond, now - secondsKept + 1);
        oldestSecond <= now;
        oldestSecond++
      ) {
        if ((counts[oldestSecond % secondsKept] ?? 0) > 0) return leavesAtMs(oldestSecond);
      }
      oldestSecond = now;
      return nowMs;
    },
    fitsAtMs: (amount, limit, nowMs) => {
      if (amount > limit) return undefined;
      const now = advanceTo(nowMs);
      let left = total;
      if (left + amount <= limit) return nowMs;
      for (let second = now - secondsKept + 1; second <= now; second++) {
        if (second < 0) continue;
        left -= counts[second % secondsKept] ?? 0;
        if (left + amount <= limit) return leavesAtMs(second);
      }
      return leavesAtMs(now);
    },
    isEmpty: (nowMs) => {
      advanceTo(nowMs);
      return total === 0;
    },
  };
}
