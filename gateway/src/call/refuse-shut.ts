import type { Upstream } from "../operation/upstream.ts";
import { refuse } from "../platform/refusals.ts";
import type { Call } from "./call.ts";
import type { Gate } from "./gate.ts";
import { returnCounted } from "./refuse-by-limit.ts";

/** Every upstream of the call is paused. Says when the first of them may be tried again; nothing was held or sent. */
export async function refuseShut(call: Call, upstream: Upstream | undefined, gate: Gate): Promise<never> {
  if (!upstream) throw new Error("A call without an upstream was admitted.");
  const { retryInMs, why } = gate.health.waitFor(upstream.name);
  const retryAfterSeconds = Math.max(1, Math.ceil(retryInMs / 1000));
  if (why === "failing") {
    return refuse("provider_unavailable", "The provider cannot serve this call now; nothing was charged.", {
      retryAfterSeconds,
      inError: { retryable: true },
    });
  }
  await returnCounted(call, gate);
  return refuse("upstream_rate_limit", "The upstream is busy; nothing was charged.", {
    retryAfterSeconds,
    inError: { limit: { name: "upstream", limit: null, remaining: 0, reset: null } },
  });
}
