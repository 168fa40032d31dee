import type { Call } from "../call.ts";
import type { Gate } from "../gate.ts";

/** Counts an answered call, refused or not, and how long it took until its answer began. */
export function countCall(
  { known, receivedAtMs }: Pick<Call, "known" | "receivedAtMs">,
  status: number,
  { metrics, clock }: Pick<Gate, "metrics" | "clock">,
): void {
  const operation = known.operationId ?? "none";
  metrics.count("tollgate_calls_total", { operation, status: String(status) });
  metrics.observe("tollgate_call_seconds", { operation }, clock.wallMs() - receivedAtMs);
}
