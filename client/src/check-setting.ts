import { misuse } from "./errors.ts";

/** A timer can wait about 25 days. Given a longer time, or infinity, it fires at once. */
const timerMsMax = 2 ** 31 - 1;

export const timerMs = (name: string, ms: number): number => Math.min(timerMsMax, atLeast(0, name, ms));

/** What came from the environment may not be a number at all, and no count would ever reach it. */
export function atLeast(least: number, name: string, value: number): number {
  if (!(value >= least)) throw misuse("invalid_setting", `${name} must be a number from ${least}.`);
  return value;
}
