// What a new run does about the calls that a process left open when it died, whatever the store.

import type { Finding } from "../ledger/audit.ts";
import type { RecoveredCharge, Recovery, Release, Resolved } from "../ledger/ledger.ts";
import type { Micros } from "../platform/money.ts";

/** A call that a dead process left open, and what became of it. */
export interface RecoveredCall {
  readonly operationId: string;
  readonly heldMicros: Micros;
  readonly resolved: Pick<Resolved, "state" | "chargedMicros" | "writtenOffMicros">;
}

/** How such a call ends: nobody is left who saw what came of it. */
export const unseenEnd = (callId: string, nowMs: number): Release => ({
  callId,
  outcome: "unknown",
  httpStatus: undefined,
  attempts: [],
  settledAtMs: nowMs,
});

export function recoveryOf(ended: readonly RecoveredCall[], lostTasks: number): Recovery {
  const settled = ended.filter(({ resolved }) => resolved.state === "settled");
  const released = ended.filter(({ resolved }) => resolved.state !== "settled");
  return {
    releasedCalls: released.length,
    releasedMicros: released.reduce((soFar, { heldMicros }) => soFar + heldMicros, 0n),
    settledCalls: settled.length,
    charges: chargesByOperation(settled),
    lostTasks,
  };
}

/** What the calls came to, each operation once. */
function chargesByOperation(settled: readonly RecoveredCall[]): RecoveredCharge[] {
  const sums = new Map<string, RecoveredCharge>();
  for (const { operationId, resolved } of settled) {
    const before = sums.get(operationId);
    sums.set(operationId, {
      operationId,
      chargedMicros: resolved.chargedMicros + (before?.chargedMicros ?? 0n),
      writtenOffMicros: resolved.writtenOffMicros + (before?.writtenOffMicros ?? 0n),
    });
  }
  return [...sums.values()];
}

/** An account whose holds its open calls do not explain. Nothing is served then: nobody knows what else is wrong. */
export function checkHoldsExplained(
  unexplained: Pick<Finding, "subject" | "detail"> | null | undefined,
): void {
  if (!unexplained) return;
  const { subject, detail } = unexplained;
  throw new Error(`Account ${subject}: ${detail}. Run "tollgate audit" before serving.`);
}
