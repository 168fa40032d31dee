import { describeError } from "../platform/log.ts";
import type { Gate } from "./gate.ts";

const firstRetryMs = 500;
const retryMsMax = 30_000;

/**
 * Ends a call whose settlement could not be written, once the store can be written again. Its caller got no
 * answer, so it is released and not charged. Should the process die first, the next start does the same.
 */
export function endLater(callId: string, gate: Gate, retryMs = firstRetryMs): void {
  const timer = setTimeout(() => {
    const release = {
      callId,
      outcome: "unknown",
      httpStatus: undefined,
      attempts: [],
      abandonsTask: true,
    } as const;
    gate.ledger
      .release({ ...release, settledAtMs: gate.clock.wallMs() })
      .then((resolved) =>
        gate.log.warn("a call was released late", { request_id: callId, state: resolved.state }),
      )
      .catch((error: unknown) => {
        gate.log.error("a call still cannot be ended", { request_id: callId, ...describeError(error) });
        endLater(callId, gate, Math.min(retryMs * 2, retryMsMax));
      });
  }, retryMs);
  timer.unref();
}
