import type { Attempt } from "../../ledger/call-record.ts";
import type { Acting } from "../../links/act-for.ts";
import { nameAt } from "../../offer/name-at.ts";
import {
  type BegunStream,
  type Exchanged,
  type ExchangedWhole,
  neverSent,
} from "../../operation/exchanged.ts";
import type { ActingFor, Upstream } from "../../operation/upstream.ts";
import type { CallRefused } from "../../platform/refusals.ts";
import { didNothing, mayRepeat, moreTelling } from "../../routing/may-repeat.ts";
import type { Pass } from "../../routing/upstream-health.ts";
import type { Call } from "../call.ts";
import type { Gate } from "../gate.ts";
import { noteAttempt } from "../news/note-attempt.ts";
import type { PricedCall } from "../priced-call.ts";
import type { Candidates } from "../candidates.ts";
import { countTwice, endTurn, noteQuota, returnQuota, takeTurn, type Turn } from "./take-turn.ts";

/** What came of a call, from the upstream that its caller is told of, after how many tries. */
export type Attempted = AttemptedWhole | AttemptedStream;

export interface AttemptedWhole {
  readonly upstream: Upstream;
  readonly attempts: readonly Attempt[];
  readonly exchanged: ExchangedWhole;
  /** Why the linked account cannot be used, where its platform said so only now. */
  readonly linkRefusal: CallRefused | undefined;
}

export interface AttemptedStream {
  readonly upstream: Upstream;
  readonly attempts: readonly Attempt[];
  readonly exchanged: BegunStream;
  /** What its upstream is left with, once the stream has shown how it ends. */
  readonly pass: Pass;
}

export const isStreaming = (attempted: Attempted): attempted is AttemptedStream =>
  attempted.exchanged.kind === "streaming";

/** Where two upstreams fail at once a third rarely helps, and the caller has waited for both. */
const failuresMax = 2;
/** Those that did nothing are not among them, and answer soon; but one that cannot be reached may take seconds to show it. */
const attemptsMax = 5;

/**
 * Sends the call to its upstream, and to the next candidate only when the first certainly did nothing, or
 * answered with an error of its own before any output. Whatever the attempts, there is one outcome and one charge.
 */
export async function forward(
  { call, operation, price, acting: linked }: PricedCall,
  firstTurn: Turn,
  candidates: Candidates,
  gate: Gate,
): Promise<Attempted> {
  call.known.servedBySandbox = firstTurn.prepared.upstream.sandbox;
  gate.ledger.markDispatched(call.id, gate.clock.wallMs());
  const attempts: Attempt[] = [];
  let told: EndedAttempt | undefined;
  let turn: Turn | undefined = firstTurn;
  /** That of the first upstream that lacks what the call goes on with, until it is asked again. */
  let lacking: Turn | undefined;
  let acting = linked;
  let failures = 0;
  while (turn) {
    const { prepared, pass }: Turn = turn;
    const { upstream } = prepared;
    if (attempts.length > 0) gate.openAttempts.set(call.id, attempts);
    const startedAtMs = gate.clock.wallMs();
    let exchanged: Exchanged | undefined;
    try {
      exchanged = await prepared.send(actingForOf(acting));
    } finally {
      endTurn(turn, exchanged, gate);
    }
    if (neverSent(exchanged)) await returnQuota(turn, gate);
    attempts.push(noteAttempt(upstream, exchanged, startedAtMs, gate));
    if (price.model && lacksModel(exchanged))
      gate.modelNews.noteNotFound(upstream.name, nameAt(price.model, upstream.name));
    told = moreTelling(told, { upstream, exchanged, pass });
    if (!didNothing(exchanged)) failures++;
    if (failures === failuresMax || attempts.length === attemptsMax) break;
    if (exchanged.kind === "link_rejected") {
      // A platform that did not accept the token did nothing, so even a write may be tried again with a new one.
      acting = await actAgain(acting, gate);
      if (acting?.kind === "ready") {
        await countTwice(turn, gate);
        continue;
      }
    }
    if (!mayRepeat(exchanged, upstream, operation)) break;
    if (lacksKept(exchanged)) lacking ??= turn;
    turn = await nextTurn(call, candidates, gate);
    if (turn || !lacking) continue;
    // Nobody who may be asked has what the call goes on with: it goes on without.
    turn = await forgettingTurn(lacking, gate);
    lacking = undefined;
  }
  if (attempts.length > 1) gate.openAttempts.delete(call.id);
  if (!told) throw new Error("A call was forwarded to nobody.");
  call.known.upstream = told.upstream.name;
  return attemptedOf(told, attempts, acting, gate);
}

/** To callers it looks like their own mistake, so that only the operator can know better. */
const lacksModel = (exchanged: Exchanged): boolean =>
  exchanged.kind === "answered" && exchanged.lacks === "model";

const lacksKept = (exchanged: Exchanged): boolean =>
  exchanged.kind === "answered" && exchanged.lacks === "what the call goes on with";

function attemptedOf(
  { upstream, exchanged, pass }: EndedAttempt,
  attempts: readonly Attempt[],
  acting: Acting | undefined,
  gate: Gate,
): Attempted {
  if (exchanged.kind === "streaming") {
    return { upstream, exchanged, attempts, pass: gate.health.streams(upstream.name, pass) };
  }
  const linkRefusal = acting?.kind === "refused" ? acting.refusal : undefined;
  return { upstream, exchanged, attempts, linkRefusal };
}

const actingForOf = (acting: Acting | undefined): ActingFor | undefined =>
  acting?.kind === "ready" ? acting.actingFor : undefined;

const actAgain = async (acting: Acting | undefined, gate: Gate): Promise<Acting | undefined> =>
  acting?.kind === "ready" ? gate.links.actAgain(acting) : acting;

interface EndedAttempt {
  readonly upstream: Upstream;
  readonly exchanged: Exchanged;
  readonly pass: Pass;
}

async function nextTurn(call: Call, candidates: Candidates, gate: Gate): Promise<Turn | undefined> {
  const taken = await takeTurn(candidates, [], gate);
  if (taken.kind !== "taken") return undefined;
  noteQuota(call, taken.turn, gate);
  return taken.turn;
}

async function forgettingTurn(lacking: Turn, gate: Gate): Promise<Turn | undefined> {
  const prepared = lacking.prepared.forgetting();
  if (prepared === undefined) return undefined;
  await countTwice(lacking, gate);
  return { ...lacking, prepared };
}
