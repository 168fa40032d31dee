import { TollgateError } from "./errors.ts";
import { nextDelay, type Delay } from "./retry-rules.ts";
import type { Transport } from "./transport.ts";

/** The waits of one logical call: each longer than the one before. */
export interface Patience {
  /** Throws `tooLong()` instead of a wait the caller did not agree to, and at once when the caller stops. */
  readonly wait: (retryAfterMs: number | undefined, tooLong: () => TollgateError) => Promise<void>;
}

export function createPatience(transport: Transport, signal: AbortSignal): Patience {
  let last: Delay | undefined;
  return {
    wait: async (retryAfterMs, tooLong) => {
      last = nextDelay(last, retryAfterMs, transport.random);
      if (last.waitMs > transport.waitMaxMs) throw tooLong();
      try {
        await transport.clock.sleep(last.waitMs, signal);
      } catch (cause) {
        const { moneyMoved, chargedMicrosUsd, requestId, idempotencyKey, attempts } = tooLong();
        throw new TollgateError("The caller stopped the call.", {
          kind: "aborted",
          code: "aborted",
          moneyMoved,
          chargedMicrosUsd,
          requestId,
          idempotencyKey,
          attempts,
          cause,
        });
      }
    },
  };
}
