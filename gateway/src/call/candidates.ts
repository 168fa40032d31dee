import { nameAt } from "../offer/name-at.ts";
import type { OfferedModel } from "../offer/offer.ts";
import type { AskedModel, PreparedCall, Unsayable } from "../operation/forwarder.ts";
import type { Upstream } from "../operation/upstream.ts";
import type { Gate } from "./gate.ts";
import type { PricedCall } from "./priced-call.ts";
import type { CallPrice } from "./call-price.ts";

/** What it takes to say a call to an upstream. */
export interface SayableCall extends Pick<PricedCall, "call" | "operation" | "input" | "acting"> {
  readonly price: Pick<CallPrice, "model" | "upstreams" | "ordered" | "streaming">;
}

/** The upstreams that one call may go to, in the order in which they are tried, each given once. */
export class Candidates {
  /** There is no other upstream to ask, so none is spared. */
  sparesNobody: boolean;
  /** Why the call could not be said to the first upstream that has no words for it. */
  unsayable: Unsayable | undefined;
  readonly #sayable: SayableCall;
  readonly #upstreams: readonly Upstream[];
  readonly #gate: Gate;
  #asked = 0;
  #first: PreparedCall | undefined;
  #spared: PreparedCall[] | undefined;
  #givesSpared = false;

  constructor(sayable: SayableCall, upstreams: readonly Upstream[], gate: Gate) {
    this.#sayable = sayable;
    this.#upstreams = upstreams;
    this.#gate = gate;
    this.sparesNobody = upstreams.length === 1;
  }

  /** Whether any upstream has words for the call. */
  canBegin(): boolean {
    this.#first ??= this.#say();
    return this.#first !== undefined;
  }

  /** The call in the words of the next upstream that has words for it; undefined when none is left. */
  next(): PreparedCall | undefined {
    if (this.#givesSpared) return this.#spared?.shift();
    const next = this.#first ?? this.#say();
    this.#first = undefined;
    return next;
  }

  /** Spares an upstream until no other can be asked. */
  spare(prepared: PreparedCall): void {
    (this.#spared ??= []).push(prepared);
  }

  /** From now on gives out the upstreams that were spared; false when there are none. */
  endSparing(): boolean {
    if (!this.#spared) return false;
    this.#givesSpared = true;
    this.sparesNobody = true;
    return true;
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

function say({ call, operation, price, input }: SayableCall, upstream: Upstream, gate: Gate) {
  const service = operation.servedBy[upstream.protocol];
  if (!service) throw new Error(`${operation.id} was offered with an upstream that does not serve it.`);
  return gate.forwarder.prepare({
    callId: call.id,
    upstream,
    service,
    input,
    forwarded: call.forwarded,
    model: price.model && askedModelOf(price.model, upstream),
    streaming: price.streaming,
    createdSeconds: Math.floor(call.receivedAtMs / 1000),
    firstByteTimeoutMs: price.streaming
      ? Math.min(operation.firstByteTimeoutMs, streamBeginsWithinMs)
      : operation.firstByteTimeoutMs,
  });
}

const askedModelOf = (model: OfferedModel, upstream: Upstream): AskedModel => ({
  name: nameAt(model, upstream.name),
  askedAs: model.id,
  unaskedOutputTokensMax: model.facts.unaskedOutputTokensMax,
  outputTokensMax: model.facts.outputTokensMax,
});

/** As long as a stream that has begun may be silent: some vendors say that it begins only with the first word. */
const streamBeginsWithinMs = 300_000;
