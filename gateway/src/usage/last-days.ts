import { dayStartSeconds, secondsPerDay } from "../platform/utc-day.ts";
import type { UsageWindow } from "./usage-report.ts";

/** So many UTC days, today among them. The current second counts too: a call that was just answered is in the report. */
export function lastDays(days: number, nowMs: number): UsageWindow {
  const nowSeconds = Math.floor(nowMs / 1000);
  return {
    startSeconds: dayStartSeconds(nowSeconds) - (days - 1) * secondsPerDay,
    endSeconds: nowSeconds + 1,
  };
}
