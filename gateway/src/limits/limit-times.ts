/** When a limit eases, as a Unix timestamp; never in the past. */
export const resetSeconds = (resetsInMs: number, nowMs: number): number =>
  Math.ceil((nowMs + resetsInMs) / 1000);

/** The same for a moment that was fixed earlier: by the time of the answer it may have come. */
export const resetSecondsOf = (resetsAtMs: number, nowMs: number): number =>
  Math.ceil(Math.max(resetsAtMs, nowMs) / 1000);

/** In how many seconds to come back, as `Retry-After` says it: whole ones, and never at once. */
export const retrySeconds = (retryInMs: number): number => Math.max(1, Math.ceil(retryInMs / 1000));
