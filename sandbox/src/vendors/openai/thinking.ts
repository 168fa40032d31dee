// How much an effort is worth.

import { isNothing } from "../../vendor.ts";

const tokensByEffort: Readonly<Record<string, number>> = {
  none: 0,
  minimal: 0,
  low: 64,
  medium: 256,
  high: 1024,
  xhigh: 2048,
  max: 4096,
};

/** Undefined when there is no such effort. */
export const thinkingTokensOf = (effort: unknown): number | undefined =>
  isNothing(effort) ? 0 : typeof effort === "string" ? tokensByEffort[effort] : undefined;
