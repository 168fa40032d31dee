import { keepsKey } from "../ledger/idempotency-key.ts";
import type { EarlierCall, IdempotencyClaim } from "../ledger/ledger.ts";

/** A request that costs nothing and was written down with an idempotency key: a link that was begun, or an application. */
export interface UnpaidClaimRow {
  readonly id: string;
  readonly fingerprint: Uint8Array;
  /** A link ends when nobody can agree to it any more; an application ends when it is filed. */
  readonly ended_at_ms: bigint;
}

/** What a repetition is told, if one of the found requests still has the key: it was done when it was written down. */
export function earlierUnpaid(
  found: readonly UnpaidClaimRow[],
  claim: IdempotencyClaim,
  nowMs: number,
): EarlierCall | undefined {
  const earlier = found.find((row) => keepsKey(Number(row.ended_at_ms), nowMs, claim));
  return (
    earlier && {
      callId: earlier.id,
      sameRequest: Buffer.compare(earlier.fingerprint, claim.fingerprint) === 0,
      state: "settled",
      outcome: "succeeded",
      chargedMicros: 0n,
      unpaid: true,
    }
  );
}
