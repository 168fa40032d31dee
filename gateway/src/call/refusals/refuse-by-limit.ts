import { seenAt, tighter } from "../../limits/call-limits.ts";
import { toldOfLimit } from "../../limits/hit-limit.ts";
import { retrySeconds } from "../../limits/limit-times.ts";
import type { LimiterRefusal, Standing, Want } from "../../limits/limiter.ts";
import { operationsInGroup } from "../../offer/list-limits.ts";
import { refuse, type RefusalCode } from "../../platform/refusals.ts";
import type { Call } from "../call.ts";
import type { Gate } from "../gate.ts";
import { returnCounted } from "../limits/return-counted.ts";

type Limited = Pick<Call, "known" | "offer">;

/** Says which limit was hit and when to come back. A call refused by a limit consumes nothing of any limit. */
export async function refuseByLimit(call: Limited, refused: LimiterRefusal, gate: Gate): Promise<never> {
  await returnCounted(call, gate);
  const { want, standing, retryInMs } = refused;
  // An operation's own limit has the same name as the key's, so the message says whose it is.
  const group = want.kind === "rate" ? want.group : undefined;
  const appliesTo = group === undefined ? undefined : operationsInGroup(call.offer, group);
  const { name, code, what } = describe(want, standing, appliesTo);
  const nowMs = gate.clock.wallMs();
  // The reset that is shown is the moment when this call would fit. The limit's own reset would say less: a slot comes back
  // long before its lease ends, and when the oldest amount of a minute expires there may still be too little room.
  const seen = seenAt(nowMs, { ...standing, resetsInMs: retryInMs });
  if (name === "tokens_per_minute") call.known.tokens = seen;
  if (name === "requests_per_minute" || name === "upstream")
    call.known.requests = tighter(call.known.requests, seen);
  const { remaining } = standing;
  return refuse(
    code,
    `${what}. Retry in ${retrySeconds(retryInMs)} s.`,
    toldOfLimit({ name, limit: want.limit, remaining, appliesTo, retryInMs }, nowMs),
  );
}

function describe(
  want: Want,
  { remaining }: Standing,
  appliesTo: readonly string[] | undefined,
): { name: string; code: RefusalCode; what: string } {
  const { limit } = want;
  if (want.kind === "slot") {
    return {
      name: "concurrency",
      code: "quota_exceeded",
      what: `The number of calls this key may run at once is ${limit}`,
    };
  }
  switch (want.of) {
    case "upstream":
      return {
        name: "upstream",
        code: "upstream_rate_limit",
        what: `The upstream's quota per minute is ${limit}`,
      };
    case "tokens":
      return {
        name: "tokens_per_minute",
        code: "rate_limit_exceeded",
        what: `This call may take ${want.amount} tokens; of this key's ${limit} per minute ${remaining} are left`,
      };
    case "requests":
      return {
        name: "requests_per_minute",
        code: "rate_limit_exceeded",
        what: `This key's limit of requests per minute${appliesTo ? ` for ${appliesTo.join(", ")}` : ""} is ${limit}`,
      };
  }
}
