import { retrySeconds } from "../../limits/limit-times.ts";
import type { Upstream } from "../../operation/upstream.ts";
import type { Call } from "../call.ts";
import type { Gate } from "../gate.ts";
import { returnCounted } from "../limits/return-counted.ts";
import { refuseBusy, refuseUnavailable } from "./refuse-for-upstream.ts";

/** Every upstream of the call is paused. Says when the first of them may be tried again; nothing was held or sent. */
export async function refusePaused(call: Call, upstream: Upstream | undefined, gate: Gate): Promise<never> {
  if (!upstream) throw new Error("A call without an upstream was admitted.");
  const { retryInMs, why, outOfCredit } = gate.health.waitFor(upstream.name);
  const retryAfterSeconds = retrySeconds(retryInMs);
  // Waiting brings no money: the caller is told when the upstream is tried next, but its client must not repeat the call.
  const retryable = outOfCredit !== true;
  if (why === "failing") return refuseUnavailable(retryable, { retryAfterSeconds });
  await returnCounted(call, gate);
  return refuseBusy(retryAfterSeconds, gate.clock, retryable ? {} : { retryable });
}
