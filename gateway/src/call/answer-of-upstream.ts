import { type ExchangedWhole, leavesInDoubt } from "../operation/exchanged.ts";
import type { Upstream } from "../operation/upstream.ts";
import type { Answer } from "./call.ts";
import type { Gate } from "./gate.ts";
import { refuseForUpstream } from "./refusals/refuse-for-upstream.ts";

/** The upstream's answer as it is passed on; refuses when there is none. */
export function answerOfUpstream(exchanged: ExchangedWhole, upstream: Upstream, gate: Gate): Answer {
  if (exchanged.kind !== "answered") return refuseForUpstream(exchanged, upstream, gate.clock);
  const { status, contentType, body, retryAfterSeconds } = exchanged;
  if (status < 400) return { status, contentType, body };
  return {
    status,
    contentType,
    body,
    ...(status < 500 || retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    // Official clients would repeat the call by themselves, and the second one would be paid for as well.
    ...(leavesInDoubt(status) ? ({ retryable: false } as const) : {}),
  };
}
