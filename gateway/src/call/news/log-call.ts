import type { Call } from "../call.ts";
import type { Gate } from "../gate.ts";

/** One line about a call, by which it can be found in the books. Nothing is assembled for a log that does not write it. */
export function logCall(
  event: "call" | "stream ended",
  call: Pick<Call, "id" | "known" | "receivedAtMs">,
  status: number | undefined,
  { log, clock }: Pick<Gate, "log" | "clock">,
  /** Why it was refused: several reasons share a status, and a refused call is in no book. */
  code?: string,
): void {
  if (!log.writesDebug) return;
  const { offered, caller, model, upstream, chargedMicros } = call.known;
  log.debug(event, {
    request_id: call.id,
    operation_id: offered?.operation.id ?? "none",
    status,
    code,
    account_id: caller?.accountId,
    key_id: caller?.keyId,
    model,
    upstream,
    duration_ms: clock.wallMs() - call.receivedAtMs,
    charged_micros_usd: chargedMicros,
  });
}
