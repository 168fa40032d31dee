import { refuseSuspended } from "../../ledger/refuse-suspended.ts";
import type { SoldOperation } from "../../operation/operation.ts";
import { type Exchanged, type ExchangedWhole, neverSent, wholeOf } from "../../operation/exchanged.ts";
import type { Answer } from "../call.ts";
import type { Gate } from "../gate.ts";
import { prepare } from "./prepare.ts";
import { chooseModel } from "./price-call.ts";
import { refuseByLimit } from "../refusals/refuse-by-limit.ts";
import { returnCounted } from "../limits/return-counted.ts";
import { refusePaused } from "../refusals/refuse-paused.ts";
import { answerOfUpstream } from "../answer-of-upstream.ts";
import type { ValidCall } from "../valid-call.ts";
import { endTurn, noteQuota, returnQuota, takeFirstTurn, type Turn } from "./take-turn.ts";

/**
 * A free operation that an upstream answers: nothing is held or booked, and usage does not count it. The upstream's
 * quota and its pauses hold for it as for any other call.
 */
export async function answerFree(valid: ValidCall<SoldOperation>, gate: Gate): Promise<Answer> {
  const { call, operation, offered, input, caller } = valid;
  const { price: contract } = operation;
  if (contract.kind !== "free") throw new Error(`${operation.id} is not free.`);
  const model = contract.modelKind === undefined ? undefined : chooseModel(valid, contract, gate);
  call.known.model = model?.id;
  const { upstreams } = model ?? offered;
  // Vendors may count differently, so it is always the first of them that can be asked.
  const price = { model, upstreams, ordered: true, streaming: false };
  const candidates = prepare({ call, operation, input, price, acting: undefined }, gate);
  // The vendor is asked with the operator's key, and whoever is suspended has no use of it.
  if (caller.suspended) refuseSuspended();

  const taken = await takeFirstTurn(candidates, [], gate);
  if (taken.kind === "limited") return refuseByLimit(call, taken.by, gate);
  if (taken.kind === "paused") return refusePaused(call, taken.upstream, gate);
  noteQuota(call, taken.turn, gate);
  const { upstream } = taken.turn.prepared;
  call.known.upstream = upstream.name;
  call.known.servedBySandbox = upstream.sandbox;
  const exchanged = await ask(taken.turn, gate);
  if (exchanged.kind === "rate_limited") await returnCounted(call, gate);
  return answerOfUpstream(exchanged, upstream, gate);
}

async function ask(turn: Turn, gate: Gate): Promise<ExchangedWhole> {
  let exchanged: Exchanged | undefined;
  try {
    exchanged = await turn.prepared.send();
  } finally {
    endTurn(turn, exchanged, gate);
  }
  if (neverSent(exchanged)) await returnQuota(turn, gate);
  return wholeOf(exchanged);
}
