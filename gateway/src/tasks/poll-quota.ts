/** How often one upstream may be asked about tasks: in no second more than its `poll_qps`. */
export interface PollQuota {
  /** How many may be asked now. */
  readonly free: () => number;
  readonly take: () => boolean;
}

/** Remembers when the last questions were asked, as many as fit into the window. Less than one a second widens it. */
export function createPollQuota(pollQps: number, monotonicMs: () => number): PollQuota {
  const places = Math.max(1, Math.floor(pollQps));
  const windowMs = (places / pollQps) * 1_000;
  const askedAtMs = Array.from({ length: places }, () => Number.NEGATIVE_INFINITY);
  let oldest = 0;
  const isFree = (place: number): boolean => (askedAtMs[place] ?? 0) + windowMs <= monotonicMs();
  return {
    free: () => askedAtMs.reduce((count, _, place) => count + (isFree(place) ? 1 : 0), 0),
    take: () => {
      if (!isFree(oldest)) return false;
      askedAtMs[oldest] = monotonicMs();
      oldest = (oldest + 1) % places;
      return true;
    },
  };
}
