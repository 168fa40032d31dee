// How often the vendor lets itself be asked: a second's worth at once, then so many a second.

export interface PollQuota {
  /** A refused poll takes nothing. */
  readonly admits: (nowMs: number) => boolean;
}

export function createPollQuota(perSecond: number): PollQuota {
  // In thousandths of a poll, so that a millisecond refills a whole number.
  const full = perSecond * 1000;
  let left = full;
  let filledAtMs = 0;

  return {
    admits(nowMs) {
      left = Math.min(full, left + Math.max(0, nowMs - filledAtMs) * perSecond);
      filledAtMs = nowMs;
      if (left < 1000) return false;
      left -= 1000;
      return true;
    },
  };
}
