import type { Attempt, AttemptOutcome } from "../../ledger/call-record.ts";
import type { Acting } from "../../links/act-for.ts";
import type { SoldOperation } from "../../operation/operation.ts";
import {
  type BegunStream,
  type Exchanged,
  type ExchangedWhole,
  type HiddenFailure,
  neverSent,
} from "../../operation/exchanged.ts";
import type { ActingFor, Upstream } from "../../operation/upstream.ts";
import type { CallRefused } from "../../platform/refusals.ts";
import { unused, verdictOf, type Admittance } from "../../routing/upstream-health.ts";
import type { Call } from "../call.ts";
import type { Gate } from "../gate.ts";
import type { PaidCall } from "../paid-call.ts";
import type { Route } from "./prepare.ts";
import { noteQuota, takeTurn, type Turn } from "./take-turn.ts";

/** What came of a call, from the upstream that its caller is told of, after how many tries. */
export type Attempted = AttemptedWhole | AttemptedStream;

export interface AttemptedWhole extends Tried {
  readonly exchanged: ExchangedWhole;
  /** Why the linked account cannot be used, where its platform said so only now. */
  readonly linkRefusal: CallRefused | undefined;
}

export interface AttemptedStream extends Tried {
  readonly exchanged: BegunStream;
  /** How its upstream was entered: the stream has still to show how that is left. */
  readonly entry: Admittance;
}

interface Tried {
  readonly upstream: Upstream;
  readonly attempts: readonly Attempt[];
}

export const isStreaming = (attempted: Attempted): attempted is AttemptedStream =>
  attempted.exchanged.kind === "streaming";

/** Where two upstreams fail at once a third rarely helps, and the caller has waited for both. */
const attemptsMax = 2;

/**
 * Sends the call to its upstream, and to the next one of its route only when the first certainly did nothing, or
 * answered with an error of its own before any output. Whatever the attempts, there is one outcome and one charge.
 */
export async function forward(
  { call, operation, acting: linked }: PaidCall,
  firstTurn: Turn,
  route: Route,
  gate: Gate,
): Promise<Attempted> {
  call.known.servedBySandbox = firstTurn.prepared.upstream.sandbox;
  gate.ledger.markDispatched(call.id, gate.clock.wallMs());
  const attempts: Attempt[] = [];
  let told: Told | undefined;
  let turn: Turn | undefined = firstTurn;
  let acting = linked;
  while (turn) {
    const { prepared, entry, quota, takenAtMs }: Turn = turn;
    const { upstream } = prepared;
    if (attempts.length > 0) gate.openAttempts.set(call.id, attempts);
    const startedAtMs = gate.clock.wallMs();
    let exchanged: Exchanged | undefined;
    try {
      exchanged = await prepared.send(actingForOf(acting));
    } finally {
      if (exchanged?.kind !== "streaming")
        gate.health.leave(upstream, entry, exchanged ? verdictOf(exchanged) : unused);
    }
    if (quota && neverSent(exchanged)) await gate.limiter.giveBack([quota], takenAtMs);
    attempts.push(attemptOf(upstream, exchanged, startedAtMs, gate));
    told = moreTelling(told, { upstream, exchanged, entry });
    if (attempts.length === attemptsMax) break;
    if (exchanged.kind === "link_rejected") {
      // A platform that did not accept the token did nothing, so even a write may be tried again with a new one.
      acting = await actAgain(acting, gate);
      if (acting?.kind === "ready") {
        // It is sent a second time by the same turn: the vendor counts both, and neither is worth a refusal.
        if (quota) await gate.limiter.correct(quota, quota.amount + 1, takenAtMs);
        continue;
      }
    }
    if (!mayRepeat(exchanged, upstream, operation)) break;
    turn = await nextTurn(call, route, gate);
  }
  if (attempts.length > 1) gate.openAttempts.delete(call.id);
  if (!told) throw new Error("A call was forwarded to nobody.");
  const { upstream, exchanged, entry } = told;
  call.known.upstream = upstream.name;
  if (exchanged.kind === "streaming") {
    return { upstream, exchanged, attempts, entry: gate.health.streams(upstream.name, entry) };
  }
  const linkRefusal = acting?.kind === "refused" ? acting.refusal : undefined;
  return { upstream, exchanged, attempts, linkRefusal };
}

const actingForOf = (acting: Acting | undefined): ActingFor | undefined =>
  acting?.kind === "ready" ? acting.actingFor : undefined;

const actAgain = async (acting: Acting | undefined, gate: Gate): Promise<Acting | undefined> =>
  acting?.kind === "ready" ? gate.links.actAgain(acting) : acting;

interface Told {
  readonly upstream: Upstream;
  readonly exchanged: Exchanged;
  readonly entry: Admittance;
}

function attemptOf(upstream: Upstream, exchanged: Exchanged, startedAtMs: number, gate: Gate): Attempt {
  const outcome = exchanged.kind === "no_answer" ? exchanged.reason : exchanged.kind;
  const hidden = exchanged.kind === "answered" ? exchanged.hiddenFailure : undefined;
  const statusSent = "status" in exchanged ? exchanged.status : null;
  const status = typeof hidden === "number" ? hidden : statusSent;
  const endedAtMs = gate.clock.wallMs();
  // A stream is counted when it is known how it ended.
  if (outcome !== "streaming") countAttempt(upstream, hidden === "malformed" ? hidden : outcome, gate);
  gate.metrics.observe("tollgate_upstream_seconds", { upstream: upstream.name }, endedAtMs - startedAtMs);
  logRejection(exchanged, upstream, gate);
  return {
    upstream: upstream.name,
    outcome,
    status,
    started_at_ms: startedAtMs,
    ended_at_ms: endedAtMs,
  };
}

/** An account out of credit is news of its upstream, told once; the key is good. */
export function logRejection(exchanged: Exchanged, { name: upstream }: Upstream, { log }: Gate): void {
  if (exchanged.kind !== "key_rejected" || exchanged.outOfCredit) return;
  const event = exchanged.callTooLarge
    ? "the operator's account at an upstream has too little credit for so large a call"
    : "an upstream refused the operator's key";
  log.error(event, { upstream, status: exchanged.status });
}

export const countAttempt = (
  { name: upstream }: Upstream,
  outcome: AttemptOutcome,
  { metrics }: Gate,
): void => metrics.count("tollgate_upstream_attempts_total", { upstream, outcome });

/**
 * Errors of the vendor's own, told instead of any output. A 504 is not among them: the work may still go on. A 429 is met
 * here only inside an answer of success.
 */
const failedInside: ReadonlySet<HiddenFailure> = new Set([429, 500, 502, 503, 529]);

/**
 * Whether another upstream may be asked. Never after a timeout, a cut connection or an answer nobody could read,
 * because the work may be done and billed; never once the first event of a stream has come. The sandbox's faults are meant to be seen.
 */
function mayRepeat(exchanged: Exchanged, upstream: Upstream, { repeatable }: SoldOperation): boolean {
  if (upstream.sandbox) return false;
  // Whoever refuses the operator's key or account did nothing either.
  if (neverSent(exchanged) || exchanged.kind === "key_rejected") return true;
  if (repeatable === false) return false;
  if (exchanged.kind === "answered") return failedInside.has(exchanged.hiddenFailure ?? exchanged.status);
  return exchanged.kind === "rate_limited";
}

async function nextTurn(call: Call, route: Route, gate: Gate): Promise<Turn | undefined> {
  const taken = await takeTurn(route, [], gate);
  if (taken.kind !== "taken") return undefined;
  noteQuota(call, taken.turn, gate);
  return taken.turn;
}

/**
 * Of two attempts the caller is told of the one that may have done something, so that its idempotency key is kept
 * for it; then of the one that says when to come back; then of the later one.
 */
const moreTelling = (earlier: Told | undefined, later: Told): Told =>
  earlier && weight(earlier.exchanged) > weight(later.exchanged) ? earlier : later;

function weight(exchanged: Exchanged): number {
  const hidesBusy = exchanged.kind === "answered" && exchanged.hiddenFailure === 429;
  if (exchanged.kind === "rate_limited" || hidesBusy) return 1;
  const refusedUs = exchanged.kind === "key_rejected" || exchanged.kind === "link_rejected";
  return refusedUs || neverSent(exchanged) ? 0 : 2;
}
