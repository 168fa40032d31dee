// Days of UTC are all of one length, so they need no calendar.

import { isoTime } from "./clock.ts";

export const secondsPerDay = 86_400;
export const dayMs = secondsPerDay * 1_000;

/** The first second of the day in which a second lies. */
export const dayStartSeconds = (seconds: number): number =>
  Math.floor(seconds / secondsPerDay) * secondsPerDay;

/** As dates are written, such as 2030-01-31. */
export const dayOf = (seconds: number): string => isoTime(seconds * 1000).slice(0, 10);

/** The first second of a day that is written as a date; undefined where it is not one. */
export function secondsOfDay(day: string): number | undefined {
  const seconds = /^\d{4}-\d{2}-\d{2}$/.test(day) ? Date.parse(day) / 1000 : Number.NaN;
  // The parser of dates accepts 30 February and means 2 March.
  return !Number.isNaN(seconds) && dayOf(seconds) === day ? seconds : undefined;
}
