import { refuse } from "../../platform/refusals.ts";
import { orderUpstreams } from "../../routing/order-upstreams.ts";
import { Candidates, type SayableCall } from "../candidates.ts";
import type { Gate } from "../gate.ts";

/** Says the call in its upstream's own protocol, before anything is held: what cannot be said is the caller's to change. */
export function prepare(sayable: SayableCall, gate: Gate): Candidates {
  const { operation, price, acting } = sayable;
  // A linked account is known at one platform only.
  const upstreams =
    acting?.kind === "ready" ? [acting.upstream] : orderUpstreams(price, gate.health.isResting, gate.random);
  const candidates = new Candidates(sayable, upstreams, gate);
  if (candidates.canBegin()) return candidates;
  const { unsayable } = candidates;
  if (!unsayable) throw new Error(`${operation.id} was offered without an upstream.`);
  const { message, field, details } = unsayable;
  return refuse("invalid_parameters", message, { field, ...(details && { inError: { details } }) });
}
