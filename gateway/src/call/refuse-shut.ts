import { retrySeconds } from "../limits/limit-times.ts";
import type { Upstream } from "../operation/upstream.ts";
import type { Call } from "./call.ts";
import type { Gate } from "./gate.ts";
import { returnCounted } from "./refuse-by-limit.ts";
import { refuseBusy, refuseUnavailable } from "./upstream-answer.ts";

/** Every upstream of the call is paused. Says when the first of them may be tried again; nothing was held or sent. */
export async function refuseShut(call: Call, upstream: Upstream | undefined, gate: Gate): Promise<never> {
  if (!upstream) throw new Error("A call without an upstream was admitted.");
  const { retryInMs, why } = gate.health.waitFor(upstream.name);
  const retryAfterSeconds = retrySeconds(retryInMs);
  if (why === "failing") return refuseUnavailable(true, { retryAfterSeconds });
  await returnCounted(call, gate);
  return refuseBusy(retryAfterSeconds);
}
