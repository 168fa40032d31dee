import type { SeenStanding } from "../../limits/call-limits.ts";
import { resetSecondsOf } from "../../limits/limit-times.ts";

/** How a limit stands, as lines of an answer. */
export const limitLines = (
  of: string,
  { limit, remaining, resetsAtMs }: SeenStanding,
  nowMs: number,
): string =>
  `x-ratelimit-limit-${of}: ${limit}\r\n` +
  `x-ratelimit-remaining-${of}: ${remaining}\r\n` +
  `x-ratelimit-reset-${of}: ${resetSecondsOf(resetsAtMs, nowMs)}\r\n`;

/** Says how the limit on requests stands, at a door whose answers are written by somebody else. */
export function tellRequestsLimit(headers: Headers, standing: SeenStanding, nowMs: number): void {
  headers.set("x-ratelimit-limit-requests", String(standing.limit));
  headers.set("x-ratelimit-remaining-requests", String(standing.remaining));
  headers.set("x-ratelimit-reset-requests", String(resetSecondsOf(standing.resetsAtMs, nowMs)));
}
