import { misuse } from "./errors.ts";

/** Timers count no further than some 25 days. Told a longer time, or for ever, they fire at once. */
const timerMsMax = 2 ** 31 - 1;

export const timerMs = (name: string, ms: number): number => Math.min(timerMsMax, atLeast(0, name, ms));

/** What came from the environment may be no number at all, and no count would ever reach it. */
export function atLeast(least: number, name: string, value: number): number {
  if (!(value >= least)) throw misuse("invalid_setting", `${name} must be a number from ${least}.`);
  return value;
}
