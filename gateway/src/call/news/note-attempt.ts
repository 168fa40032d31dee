import type { Attempt, AttemptOutcome } from "../../ledger/call-record.ts";
import type { Exchanged } from "../../operation/exchanged.ts";
import type { Upstream } from "../../operation/upstream.ts";
import type { Gate } from "../gate.ts";

/** Counts an attempt that has come back, tells the operator of a key that was refused, and gives what the receipt says of it. */
export function noteAttempt(
  upstream: Upstream,
  exchanged: Exchanged,
  startedAtMs: number,
  gate: Gate,
): Attempt {
  const outcome = exchanged.kind === "no_answer" ? exchanged.reason : exchanged.kind;
  const hidden = exchanged.kind === "answered" ? exchanged.hiddenFailure : undefined;
  const statusSent = "status" in exchanged ? exchanged.status : null;
  const status = typeof hidden === "number" ? hidden : statusSent;
  const endedAtMs = gate.clock.wallMs();
  // A stream is counted when it is known how it ended.
  if (outcome !== "streaming") countAttempt(upstream, hidden === "malformed" ? hidden : outcome, gate);
  gate.metrics.observe("tollgate_upstream_seconds", { upstream: upstream.name }, endedAtMs - startedAtMs);
  logRejection(exchanged, upstream, gate);
  return {
    upstream: upstream.name,
    outcome,
    status,
    started_at_ms: startedAtMs,
    ended_at_ms: endedAtMs,
  };
}

export const countAttempt = (
  { name: upstream }: Upstream,
  outcome: AttemptOutcome,
  { metrics }: Gate,
): void => metrics.count("tollgate_upstream_attempts_total", { upstream, outcome });

/** An account out of credit is news of its upstream, told once; the key is good. */
export function logRejection(exchanged: Exchanged, { name: upstream }: Upstream, { log }: Gate): void {
  if (exchanged.kind !== "key_rejected" || exchanged.outOfCredit) return;
  const event = exchanged.callTooLarge
    ? "the operator's account at an upstream has too little credit for so large a call"
    : "an upstream refused the operator's key";
  log.error(event, { upstream, status: exchanged.status });
}
