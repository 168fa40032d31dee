import type { Log } from "../platform/log.ts";
import type { Metrics } from "../platform/metrics.ts";
import { countMicros } from "./count-charge.ts";
import type { Recovery } from "./ledger.ts";

/** What a process that died left open, and what became of it. */
export function tellRecovery(
  { releasedCalls, settledCalls, releasedMicros, charges, lostTasks }: Recovery,
  { log, metrics }: { readonly log: Log; readonly metrics: Metrics },
): void {
  for (const charge of charges) countMicros(charge, metrics);
  if (releasedCalls + settledCalls > 0) {
    log.warn("calls of a process that died were ended", {
      released_calls: releasedCalls,
      settled_calls: settledCalls,
      released_micros_usd: releasedMicros,
    });
  }
  if (lostTasks > 0) {
    log.error("nobody knows whether tasks were created; their holds stay until the deadline", {
      lost_tasks: lostTasks,
    });
  }
}
