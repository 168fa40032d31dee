import type { Attempt } from "../ledger/call-record.ts";
import type { CallInput, SoldOperation } from "../operation/operation.ts";
import type { Exchanged, Upstream } from "../operation/upstream.ts";
import type { Call } from "./call.ts";
import type { Gate } from "./gate.ts";
import type { PricedCall } from "./price-call.ts";

export interface Attempted {
  readonly upstream: Upstream;
  readonly exchanged: Exchanged;
  readonly attempts: readonly Attempt[];
}

/** Sends the call to its upstream, once. */
export async function forward(
  call: Call,
  operation: SoldOperation,
  priced: PricedCall,
  input: CallInput,
  gate: Gate,
): Promise<Attempted> {
  const upstream = priced.upstreams[0];
  const service = upstream && operation.servedBy[upstream.protocol];
  if (!upstream || !service) throw new Error(`${operation.id} was offered without an upstream.`);

  call.known.servedBySandbox = upstream.sandbox;
  const startedAtMs = gate.clock.wallMs();
  gate.ledger.markDispatched(call.id, startedAtMs);
  const exchanged = await gate.forwarder.dispatch({
    callId: call.id,
    upstream,
    service,
    input,
    model: priced.model?.id,
    maxOutputTokens: priced.model?.facts.maxOutputTokens,
    firstByteTimeoutMs: operation.firstByteTimeoutMs,
  });
  const attempt: Attempt = {
    upstream: upstream.name,
    outcome: outcomeOf(exchanged),
    status: "status" in exchanged ? exchanged.status : null,
    started_at_ms: startedAtMs,
    ended_at_ms: gate.clock.wallMs(),
  };
  gate.metrics.count("tollgate_upstream_attempts_total", {
    upstream: upstream.name,
    outcome: attempt.outcome,
  });
  return { upstream, exchanged, attempts: [attempt] };
}

const outcomeOf = (exchanged: Exchanged): string =>
  exchanged.kind === "no_answer" ? exchanged.reason : exchanged.kind;
