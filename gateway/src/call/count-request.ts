import type { Credential } from "../keys/keys.ts";
import type { RequestRate } from "../limits/request-limiter.ts";
import { refuse } from "../platform/refusals.ts";
import type { Call } from "./call.ts";
import type { Gate } from "./gate.ts";

/** Counts the request against its key, whatever its answer will be; a refused one is not counted. */
export async function countRequest(call: Call, caller: Credential, gate: Gate): Promise<void> {
  const { rpm } = call.offer.tiers[caller.tier];
  const rate = await gate.requestLimiter.take(caller.keyId, rpm);
  call.known.rate = rate;
  if (rate.admitted) return;
  const retryAfterSeconds = Math.max(1, Math.ceil(rate.retryInMs / 1000));
  refuse(
    "rate_limit_exceeded",
    `This key may send ${rpm} requests per minute. Retry in ${retryAfterSeconds} s.`,
    {
      retryAfterSeconds,
      inError: {
        limit: {
          name: "requests_per_minute",
          limit: rpm,
          remaining: 0,
          reset: resetSeconds(rate, call.receivedAtMs),
        },
      },
    },
  );
}

/** When the limit eases, as a Unix timestamp; never in the past. */
export const resetSeconds = (rate: RequestRate, nowMs: number): number =>
  Math.ceil((nowMs + rate.resetsInMs) / 1000);
