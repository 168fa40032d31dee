import type { EarlierCall } from "./ledger.ts";
import { refuse, type OriginalCall, type RefusalCode } from "../platform/refusals.ts";

/** What a taken key is answered with; an operation may have a prefix of its own before each. */
export const conflicts = [
  "request_already_completed",
  "request_in_progress",
  "idempotency_key_reused",
  "outcome_unknown",
] as const;

type Conflict = (typeof conflicts)[number];

/** What stands before the codes of an operation whose conflicts have codes of their own, whatever it is called. */
export type ConflictPrefix = "traffic_analytics_";

export const isConflict = (code: RefusalCode): boolean =>
  conflicts.some((conflict) => code.endsWith(conflict));

/** The key is taken. Says by which call, how it stands and what it cost, so that nobody has to pay to find out. */
export function refuseEarlier(earlier: EarlierCall, prefix: ConflictPrefix | "" = ""): never {
  const { conflict, message, retryable } = verdict(earlier);
  const code: RefusalCode = `${prefix}${conflict}`;
  refuse(code, message, {
    retryable,
    beside: { original: originalOf(earlier) },
    ...(earlier.unpaid ? { originalUnpaid: true } : {}),
    ...(retryable ? { retryAfterSeconds: 1 } : {}),
  });
}

/** An earlier call, as the one who repeats it is told. */
export const originalOf = (earlier: Omit<EarlierCall, "sameRequest">): OriginalCall => ({
  request_id: earlier.callId,
  status: inDoubt(earlier) ? "unknown" : earlier.state,
  charged_micros_usd: Number(earlier.chargedMicros),
});

function verdict(earlier: EarlierCall): { conflict: Conflict; message: string; retryable: boolean } {
  if (!earlier.sameRequest) {
    const message = "This Idempotency-Key was used for another request; use a new key for a new request.";
    return { conflict: "idempotency_key_reused", message, retryable: false };
  }
  if (inDoubt(earlier)) {
    const message = "It is not known how the request with this Idempotency-Key ended; it is not repeated.";
    return { conflict: "outcome_unknown", message, retryable: false };
  }
  if (earlier.state === "held" || earlier.state === "dispatched") {
    return {
      conflict: "request_in_progress",
      message: "The request with this Idempotency-Key is still running.",
      retryable: true,
    };
  }
  const message = "The request with this Idempotency-Key has ended; it is not repeated or charged again.";
  return { conflict: "request_already_completed", message, retryable: false };
}

const inDoubt = ({ outcome, state }: Pick<EarlierCall, "outcome" | "state">): boolean =>
  outcome === "unknown" || state === "unknown";
