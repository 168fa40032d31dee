import { nameAt } from "../../offer/name-at.ts";
import type { PreparedCall, Unsayable } from "../../operation/forwarder.ts";
import type { Upstream } from "../../operation/upstream.ts";
import { refuse } from "../../platform/refusals.ts";
import { chooseRoute } from "../../routing/route.ts";
import type { Gate } from "../gate.ts";
import type { PaidCall } from "../paid-call.ts";
import type { PricedCall } from "./price-call.ts";

/** All that an upstream needs to be told a call. */
interface SayableCall extends Pick<PaidCall, "call" | "operation" | "input" | "acting"> {
  readonly priced: Pick<PricedCall, "model" | "upstreams" | "ordered" | "streaming">;
}

/** Says the call in its upstream's own protocol, before anything is held: what cannot be said is the caller's to change. */
export function prepare(sayable: SayableCall, gate: Gate): Route {
  const { operation, priced, acting } = sayable;
  // A linked account is known at one platform only.
  const upstreams =
    acting?.kind === "ready" ? [acting.upstream] : chooseRoute(priced, gate.health.isResting, gate.random);
  const route = new Route(sayable, upstreams, gate);
  if (route.canBegin()) return route;
  const { unsayable } = route;
  if (!unsayable) throw new Error(`${operation.id} was offered without an upstream.`);
  const { message, field, details } = unsayable;
  return refuse("invalid_parameters", message, { field, ...(details && { inError: { details } }) });
}

/** The upstreams of one call, each asked for once, in the order in which they are to be tried. */
export class Route {
  /** There is nobody else to ask, so nobody is spared. */
  readonly alone: boolean;
  /** What the first of them that could not be told the call could not be told. */
  unsayable: Unsayable | undefined;
  readonly #sayable: SayableCall;
  readonly #upstreams: readonly Upstream[];
  readonly #gate: Gate;
  #asked = 0;
  #first: PreparedCall | undefined;

  constructor(sayable: SayableCall, upstreams: readonly Upstream[], gate: Gate) {
    this.#sayable = sayable;
    this.#upstreams = upstreams;
    this.#gate = gate;
    this.alone = upstreams.length === 1;
  }

  /** Whether there is anybody who can be told the call. */
  canBegin(): boolean {
    this.#first ??= this.#say();
    return this.#first !== undefined;
  }

  /** The call in the words of the next upstream that can be told it; undefined when there is none left. */
  next(): PreparedCall | undefined {
    const next = this.#first ?? this.#say();
    this.#first = undefined;
    return next;
  }

  #say(): PreparedCall | undefined {
    for (let upstream = this.#upstreams[this.#asked++]; upstream; upstream = this.#upstreams[this.#asked++]) {
      const prepared = say(this.#sayable, upstream, this.#gate);
      if (prepared.kind === "ready") return prepared;
      this.unsayable ??= prepared;
    }
    return undefined;
  }
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
    model: priced.model && nameAt(priced.model, upstream.name),
    modelAsked: priced.model?.id,
    unaskedOutputTokensMax: priced.model?.facts.unaskedOutputTokensMax,
    outputTokensMax: priced.model?.facts.outputTokensMax,
    streaming: priced.streaming,
    createdSeconds: Math.floor(call.receivedAtMs / 1000),
    firstByteTimeoutMs: priced.streaming
      ? Math.min(operation.firstByteTimeoutMs, streamBeginsWithinMs)
      : operation.firstByteTimeoutMs,
  });
}

/** As long as a stream that has begun may be silent: some vendors say that it begins only with the first word. */
const streamBeginsWithinMs = 300_000;
