import type { Metrics } from "../platform/metrics.ts";
import { refusals } from "../platform/refusals.ts";

/**
 * Writes down the counters of what is rare before any of it happens. Whoever watches a counter compares it with what it was, and
 * of one that appears with its first event nobody knows what it was: that event, often the only one, would call nobody.
 */
export function beginCounters(metrics: Metrics): void {
  for (const name of withoutLabels) metrics.count(name, undefined, 0);
  for (const result of ["ok", "waiting", "kept_old"])
    metrics.count("tollgate_config_reloads_total", { result }, 0);
  for (const code of Object.keys(refusals)) metrics.count("tollgate_refusals_total", { code }, 0);
}

const withoutLabels = [
  "tollgate_written_off_micros_usd_total",
  "tollgate_limits_outages_total",
  "tollgate_log_lines_lost_total",
] as const;
