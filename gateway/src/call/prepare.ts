import type { ActingFor, Exchanged, Upstream } from "../operation/upstream.ts";
import { refuse } from "../platform/refusals.ts";
import { chooseRoute } from "../routing/route.ts";
import type { Gate } from "./gate.ts";
import type { PaidCall } from "./paid-call.ts";
import type { PricedCall } from "./price-call.ts";

/** A call in the words of its upstream, ready to leave. */
export interface PreparedCall {
  readonly upstream: Upstream;
  readonly send: (actingFor?: ActingFor) => Promise<Exchanged>;
  /** Nothing leaves for it. */
  readonly answeredHere: boolean;
}

/** All that an upstream needs to be told a call. */
interface SayableCall extends Pick<PaidCall, "call" | "operation" | "input" | "acting"> {
  readonly priced: Pick<PricedCall, "model" | "upstreams" | "ordered" | "streaming">;
}

/** The upstreams of one call, each asked for once, in the order in which they are to be tried. */
export interface Route {
  /** There is nobody else to ask, so nobody is spared. */
  readonly alone: boolean;
  /** The call in the words of the next upstream that can be told it; undefined when there is none left. */
  readonly next: () => PreparedCall | undefined;
}

/** Says the call in its upstream's own protocol, before anything is held: what cannot be said is the caller's to change. */
export function prepare(sayable: SayableCall, gate: Gate): Route {
  const { operation, priced, acting } = sayable;
  // A linked account is known at one platform only.
  const upstreams =
    acting?.kind === "ready" ? [acting.upstream] : chooseRoute(priced, gate.health.isResting, gate.random);
  let asked = 0;
  let unsayable: { readonly field: string; readonly message: string } | undefined;

  const following = (): PreparedCall | undefined => {
    for (let upstream = upstreams[asked++]; upstream; upstream = upstreams[asked++]) {
      const prepared = say(sayable, upstream, gate);
      if (prepared.kind === "ready") {
        return { upstream, send: prepared.send, answeredHere: prepared.answeredHere === true };
      }
      unsayable ??= prepared;
    }
    return undefined;
  };

  let first = following();
  if (!first) {
    if (!unsayable) throw new Error(`${operation.id} was offered without an upstream.`);
    return refuse("invalid_parameters", unsayable.message, { field: unsayable.field });
  }
  return {
    alone: upstreams.length === 1,
    next: () => {
      const next = first ?? following();
      first = undefined;
      return next;
    },
  };
}

function say({ call, operation, priced, input }: SayableCall, upstream: Upstream, gate: Gate) {
  const service = operation.servedBy[upstream.protocol];
  if (!service) throw new Error(`${operation.id} was offered with an upstream that does not serve it.`);
  return gate.forwarder.prepare({
    callId: call.id,
    upstream,
    service,
    input,
    forwarded: call.forwarded,
    model: priced.model?.id,
    maxOutputTokens: priced.model?.facts.maxOutputTokens,
    streaming: priced.streaming,
    createdSeconds: Math.floor(call.receivedAtMs / 1000),
    firstByteTimeoutMs: operation.firstByteTimeoutMs,
  });
}
