import type { RecoveredCharge } from "../ledger/ledger.ts";

/** What calls of a process that died came to, each operation once. */
export function chargesByOperation(charges: Iterable<RecoveredCharge>): RecoveredCharge[] {
  const sums = new Map<string, RecoveredCharge>();
  for (const { operationId, chargedMicros, writtenOffMicros } of charges) {
    const before = sums.get(operationId);
    sums.set(operationId, {
      operationId,
      chargedMicros: chargedMicros + (before?.chargedMicros ?? 0n),
      writtenOffMicros: writtenOffMicros + (before?.writtenOffMicros ?? 0n),
    });
  }
  return [...sums.values()];
}
