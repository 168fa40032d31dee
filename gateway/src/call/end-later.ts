import type { Gate } from "./gate.ts";
import { writeLater } from "./write-later.ts";

/**
 * Ends a call whose settlement could not be written, once the store can be written again. Its caller got no
 * answer, so it is released and not charged. Should the process die first, the next start does the same.
 */
export function endLater(callId: string, gate: Gate): void {
  writeLater(
    `the end of ${callId}`,
    async () => {
      const resolved = await gate.ledger.release({
        callId,
        outcome: "unknown",
        httpStatus: undefined,
        attempts: [],
        abandonsTask: true,
        settledAtMs: gate.clock.wallMs(),
      });
      gate.log.warn("a call was released late", { request_id: callId, state: resolved.state });
    },
    gate,
  );
}
