import type { Credential } from "../keys/keys.ts";
import { refuseSuspended } from "../ledger/refuse-suspended.ts";
import type { OfferedOperation } from "../offer/offer.ts";
import type { CallInput, SoldOperation } from "../operation/operation.ts";
import { refuse } from "../platform/refusals.ts";
import type { Answer, Call } from "./call.ts";
import type { Gate } from "./gate.ts";
import { chooseModel } from "./price-call.ts";
import { returnCounted } from "./refuse-by-limit.ts";
import { answerOf } from "./settle.ts";

/** A free operation that an upstream answers: nothing is held or booked, and usage does not count it. */
export async function answerFree(
  call: Call,
  operation: SoldOperation,
  offered: OfferedOperation,
  input: CallInput,
  caller: Credential,
  gate: Gate,
): Promise<Answer> {
  const { price } = operation;
  if (price.kind !== "free") throw new Error(`${operation.id} is not free.`);
  const model = price.modelKind === undefined ? undefined : chooseModel(offered, price, input, gate);
  const upstream = (model ?? offered).upstreams[0];
  const service = upstream && operation.servedBy[upstream.protocol];
  if (!upstream || !service) throw new Error(`${operation.id} was offered without an upstream.`);
  const prepared = gate.forwarder.prepare({
    callId: call.id,
    upstream,
    service,
    input,
    forwarded: call.forwarded,
    model: model?.id,
    maxOutputTokens: model?.facts.maxOutputTokens,
    streaming: false,
    createdSeconds: Math.floor(call.receivedAtMs / 1000),
    firstByteTimeoutMs: operation.firstByteTimeoutMs,
  });
  if (prepared.kind === "inexpressible") {
    return refuse("invalid_parameters", prepared.message, { field: prepared.field });
  }
  // The vendor is asked with the operator's key, and whoever is suspended has no use of it.
  if (caller.suspended) refuseSuspended();
  call.known.servedBySandbox = upstream.sandbox;
  const exchanged = await prepared.send();
  if (exchanged.kind === "rate_limited") await returnCounted(call, gate);
  return answerOf(exchanged, upstream);
}
