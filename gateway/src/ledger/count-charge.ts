import type { Log } from "../platform/log.ts";
import type { Metrics } from "../platform/metrics.ts";
import type { RecoveredCharge, Resolved } from "./ledger.ts";

interface ChargedCall {
  readonly callId: string;
  readonly operationId: string;
  readonly upstream: string | undefined;
}

/** Counts what a call was charged, by whoever ended it; whoever comes second changed nothing and counts nothing. */
export function countCharge(
  { first, chargedMicros, writtenOffMicros }: Resolved,
  { callId, operationId, upstream }: ChargedCall,
  { metrics, log }: { readonly metrics: Metrics; readonly log: Log },
): void {
  if (!first) return;
  countMicros({ operationId, chargedMicros, writtenOffMicros }, metrics);
  if (writtenOffMicros === 0n) return;
  log.warn("usage above the hold was written off", {
    request_id: callId,
    upstream,
    written_off_micros_usd: writtenOffMicros,
  });
}

/** Also what is charged for calls whose own process did not live to end them. */
export function countMicros(
  { operationId, chargedMicros, writtenOffMicros }: RecoveredCharge,
  metrics: Metrics,
): void {
  metrics.count("tollgate_charged_micros_usd_total", { operation: operationId }, Number(chargedMicros));
  if (writtenOffMicros > 0n)
    metrics.count("tollgate_written_off_micros_usd_total", undefined, Number(writtenOffMicros));
}
