/** How often one upstream may be asked about tasks: in no second more than its `poll_qps`. */
export interface PollQuota {
  /** How many may be asked now. */
  readonly free: () => number;
  readonly take: () => boolean;
}

/**
 * A place in time that was passed by may still be taken for so long. Without this, every look that comes late would lose its
 * place; with more, the vendor would be asked in bursts. In return the places lie a little wider apart than the quota says,
 * so that no second holds more than the quota.
 */
const latenessMs = 100;

/** Evenly spaced places in time, handed out one by one. */
export function createPollQuota(pollQps: number, monotonicMs: () => number): PollQuota {
  const betweenMs = (1_000 + latenessMs) / pollQps;
  let nextMs = Number.NEGATIVE_INFINITY;
  const free = (nowMs: number): number =>
    Math.max(0, Math.floor((nowMs + latenessMs - Math.max(nextMs, nowMs)) / betweenMs) + 1);
  return {
    free: () => free(monotonicMs()),
    take: () => {
      const nowMs = monotonicMs();
      if (free(nowMs) === 0) return false;
      nextMs = Math.max(nextMs, nowMs) + betweenMs;
      return true;
    },
  };
}
