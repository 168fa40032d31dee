import { seenAt, tighter, upstreamRequests } from "../../limits/call-limits.ts";
import type { LimiterRefusal, RateWant, Standing, Take, Want } from "../../limits/limiter.ts";
import type { TakenAt } from "../../limits/taken-at.ts";
import type { Exchanged } from "../../operation/exchanged.ts";
import type { PreparedCall } from "../../operation/forwarder.ts";
import type { Upstream } from "../../operation/upstream.ts";
import type { Pass } from "../../routing/upstream-health.ts";
import { unused, verdictOf } from "../../routing/verdict.ts";
import type { Call } from "../call.ts";
import type { Gate } from "../gate.ts";
import type { Candidates } from "../candidates.ts";

/** The right to ask one upstream once. */
export interface Turn {
  readonly prepared: PreparedCall;
  readonly pass: Pass;
  /** What was taken of the upstream's own quota, and how that stands now. */
  readonly quota: RateWant | undefined;
  readonly quotaStanding: Standing | undefined;
  readonly takenAt: TakenAt;
}

interface Taken {
  readonly kind: "taken";
  readonly turn: Turn;
  /** One for each other want, in their order; last that of the upstream's own quota, where it has one. */
  readonly standings: readonly Standing[];
}

export type TakenTurn =
  | Taken
  | { readonly kind: "limited"; readonly by: LimiterRefusal }
  | { readonly kind: "paused"; readonly upstream: Upstream | undefined };

/**
 * The first turn of a call. Some upstreams rest only because we guess that they fail. They are asked where nobody else can
 * be: they may have failed on the calls of one caller alone, and all others would be refused on its account.
 */
export function takeFirstTurn(
  candidates: Candidates,
  others: readonly Want[],
  gate: Gate,
): TakenTurn | Promise<TakenTurn> {
  const refused: RefusedSoFar = { limited: undefined, paused: undefined };
  const taking = takeTurn(candidates, others, gate, refused);
  return taking instanceof Promise
    ? taking.then((taken) => orSpared(taken, candidates, others, gate, refused))
    : orSpared(taking, candidates, others, gate, refused);
}

const orSpared = (
  taken: TakenTurn,
  candidates: Candidates,
  others: readonly Want[],
  gate: Gate,
  refused: RefusedSoFar,
): TakenTurn | Promise<TakenTurn> =>
  taken.kind === "taken" || !candidates.endSparing() ? taken : takeTurn(candidates, others, gate, refused);

/**
 * Takes a turn at the next candidate that is open and has quota left, together with whatever else
 * the call wants, all or none. Refused, nothing is taken, and it says which wait is the shortest.
 */
export function takeTurn(
  candidates: Candidates,
  others: readonly Want[],
  gate: Gate,
  refused: RefusedSoFar = { limited: undefined, paused: undefined },
): TakenTurn | Promise<TakenTurn> {
  for (let prepared = candidates.next(); prepared; prepared = candidates.next()) {
    const { upstream, answeredHere } = prepared;
    // Refusing on behalf of the only upstream would help nobody: its own answer is worth more than our guess.
    const pass = candidates.sparesNobody || answeredHere ? "usual" : gate.health.enter(upstream.name);
    if (pass === "paused") {
      if (gate.health.waitFor(upstream.name).guessed === true) candidates.spare(prepared);
      refused.paused = sooner(refused.paused, upstream, gate);
      continue;
    }
    const quota =
      upstream.quotaRpm === undefined || answeredHere
        ? undefined
        : upstreamRequests(upstream.name, upstream.quotaRpm);
    const chosen = { prepared, pass, quota };
    const asked = gate.limiter.take(quota ? [...others, quota] : others);
    // A limiter in memory answers at once, and nobody waits for it.
    if (asked instanceof Promise) {
      return asked.then(
        (take) => judge(take, chosen, refused, gate) ?? takeTurn(candidates, others, gate, refused),
      );
    }
    const taken = judge(asked, chosen, refused, gate);
    if (taken) return taken;
  }
  const { limited, paused } = refused;
  return limited && !opensWithin(limited.retryInMs, paused, gate)
    ? { kind: "limited", by: limited }
    : { kind: "paused", upstream: paused };
}

/** The shortest wait among the upstreams that could not be asked. */
interface RefusedSoFar {
  limited: LimiterRefusal | undefined;
  paused: Upstream | undefined;
}

/** What the limiter's answer means; undefined when the next upstream may have quota left. */
function judge(
  take: Take,
  { prepared, pass, quota }: Pick<Turn, "prepared" | "pass" | "quota">,
  refused: RefusedSoFar,
  gate: Gate,
): TakenTurn | undefined {
  if (take.kind === "taken") {
    const { takenAt, standings } = take;
    const quotaStanding = quota && standings.at(-1);
    return { kind: "taken", turn: { prepared, pass, quota, quotaStanding, takenAt }, standings };
  }
  gate.health.leave(prepared.upstream, pass, unused);
  if (take.want.name !== quota?.name) return { kind: "limited", by: take };
  if (!refused.limited || take.retryInMs < refused.limited.retryInMs) refused.limited = take;
  return undefined;
}

/** Shows the caller the upstream's quota, where it leaves less than the limits of the caller's own. */
export function noteQuota({ known }: Pick<Call, "known">, { quotaStanding }: Turn, { clock }: Gate): void {
  if (quotaStanding) known.requests = tighter(known.requests, seenAt(clock.wallMs(), quotaStanding));
}

/**
 * Whether the paused upstream opens sooner than the quota frees up. A quota refusal tells the caller more, so it wins by up
 * to a second.
 */
function opensWithin(waitMs: number, paused: Upstream | undefined, { health }: Gate): boolean {
  if (!paused) return false;
  const { retryInMs, outOfCredit } = health.waitFor(paused.name);
  return outOfCredit !== true && retryInMs + 1_000 < waitMs;
}

/** An upstream that only needs time beats one without credit, even if that one is tried sooner. */
function sooner(one: Upstream | undefined, other: Upstream, { health }: Gate): Upstream {
  if (!one) return other;
  const [first, second] = [health.waitFor(one.name), health.waitFor(other.name)];
  if (first.outOfCredit !== second.outOfCredit) return first.outOfCredit === true ? other : one;
  return first.retryInMs <= second.retryInMs ? one : other;
}

/**
 * Tells those who choose upstreams what came of a turn; nothing where the call was answered here, or never sent because of
 * a bug of ours. A stream shows only at its end whether its upstream works.
 */
export function endTurn({ prepared, pass }: Turn, exchanged: Exchanged | undefined, gate: Gate): void {
  if (exchanged?.kind === "streaming") return;
  const isHeard = exchanged !== undefined && !prepared.answeredHere;
  gate.health.leave(prepared.upstream, pass, isHeard ? verdictOf(exchanged) : unused);
}

/** Returns a turn that was not used: the upstream never heard of the call. */
export async function giveTurnBack(turn: Turn, gate: Gate): Promise<void> {
  endTurn(turn, undefined, gate);
  await returnQuota(turn, gate);
}

/** Not a byte left, so the upstream counts nothing. */
export function returnQuota({ quota, takenAt }: Turn, { limiter }: Gate): void | Promise<void> {
  if (quota) return limiter.giveBack([quota], takenAt);
}

/** The call is sent once more by the same turn: the vendor counts both, and neither is worth a refusal. */
export function countTwice({ quota, takenAt }: Turn, { limiter }: Gate): void | Promise<void> {
  if (quota) return limiter.correct(quota, quota.amount + 1, takenAt);
}
