import type { Micros } from "../platform/money.ts";

/** What a key was charged in one day. */
export interface DayCharge {
  readonly dayStartMs: number;
  readonly chargedMicros: Micros;
}

/**
 * What a key was charged in days that it did not count, by its usage and by what its budget has counted. Undefined when it
 * counted some of its calls and others not, as keys of earlier programs did: only the calls themselves can tell then.
 */
export function daysBeforeBudget(
  usage: readonly DayCharge[],
  countedMicros: Micros,
): readonly DayCharge[] | undefined {
  if (countedMicros === 0n) return usage;
  const chargedMicros = usage.reduce((sum, day) => sum + day.chargedMicros, 0n);
  return chargedMicros === countedMicros ? [] : undefined;
}

export interface DayChargeRow {
  readonly day_start_ms: bigint;
  readonly charged_micros: bigint;
}

export const dayChargeOf = (row: DayChargeRow): DayCharge => ({
  dayStartMs: Number(row.day_start_ms),
  chargedMicros: row.charged_micros,
});
