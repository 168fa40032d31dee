import type { EarlierCall } from "../ledger/ledger.ts";

/** What a repeated Idempotency-Key of a free call is told: the first one was done when it was written down. */
export const freeConflict = (
  earlier: { readonly id: string; readonly fingerprint: Uint8Array },
  fingerprint: Uint8Array,
): { readonly kind: "idempotency_conflict"; readonly earlier: EarlierCall } => ({
  kind: "idempotency_conflict",
  earlier: {
    callId: earlier.id,
    sameRequest: Buffer.compare(earlier.fingerprint, fingerprint) === 0,
    state: "settled",
    outcome: "succeeded",
    chargedMicros: 0n,
  },
});
