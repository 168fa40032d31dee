import type { HoldRequest, HoldResult } from "../ledger/ledger.ts";
import { keySlot, keyTokens } from "../limits/call-limits.ts";
import type { Want } from "../limits/limiter.ts";
import { limitsOf } from "../limits/tiers.ts";
import type { SoldOperation } from "../operation/operation.ts";
import { tokenTotals, type Quantities } from "../operation/quantities.ts";
import type { Micros } from "../platform/money.ts";
import { refuse } from "../platform/refusals.ts";
import { taskLifeMs, type NewTask } from "../tasks/task.ts";
import { endLater } from "./end-later.ts";
import type { Gate } from "./gate.ts";
import type { PaidCall } from "./paid-call.ts";
import type { Route } from "./prepare.ts";
import type { PricedCall } from "./price-call.ts";
import { refuseByLimit, resetSeconds, returnCounted } from "./refuse-by-limit.ts";
import { refuseShut } from "./refuse-shut.ts";
import { refuseUnbooked } from "./refuse-unbooked.ts";
import { refuseEarlier } from "../ledger/refuse-earlier.ts";
import { refuseSuspended } from "../ledger/refuse-suspended.ts";
import { checkMaySpend, coveredMicros, refuseByGrantDay, refuseUnapproved } from "./spend-policy.ts";
import { giveTurnBack, noteQuota, takeTurn, type Turn } from "./take-turn.ts";

/** What a call took: its turn at an upstream, and a share of its key's limits. */
export interface Admission {
  readonly turn: Turn;
  readonly share: Share;
}

/**
 * Takes everything the call needs, all or nothing: its idempotency key, its share of the limits, and a durable
 * hold on the most it can cost. A hold that does not fit is never shrunk.
 */
export async function admit(paid: PaidCall, route: Route, gate: Gate): Promise<Admission> {
  const { call, operation, priced, caller, wishes } = paid;
  checkMaySpend(caller);
  const tokensWanted = wantedTokens(paid);
  const wants = wantsOf(paid, tokensWanted);
  const taken = await takeTurn(route, wants, gate);
  if (taken.kind !== "taken") {
    await checkEarlier(paid, gate);
    if (taken.kind === "limited") return refuseByLimit(call, taken.by, gate);
    return refuseShut(call, taken.upstream, gate);
  }
  const { turn, standings } = taken;
  const tokens = tokensWanted && standings[wants.indexOf(tokensWanted)];
  if (tokens) call.known.tokens = tokens;

  try {
    if (wishes.capMicros !== undefined && priced.atMostMicros > wishes.capMicros) {
      await checkEarlier(paid, gate);
      const open = operation.task && (await gate.tasks.countOpen(caller.keyId));
      if (operation.task && open !== undefined && open >= operation.task.openMax) {
        await refuseByTasks(paid, operation.task.openMax, gate);
      }
      refuseByCap(priced.atMostMicros, wishes.capMicros);
    }
    if (paid.acting?.kind === "refused") {
      // Told last: who could not pay, or has asked before, hears that first. Nothing is held or written for it.
      checkHeld(await wouldHold(paid, gate), paid);
      throw paid.acting.refusal;
    }
    let held: HoldResult;
    try {
      held = await gate.ledger.hold(holdRequest(paid));
    } catch (error) {
      // Should the hold be on disk all the same, it must not stay there.
      endLater(call.id, gate);
      return unbooked(error, paid, gate);
    }
    if (held.kind === "too_many_tasks") await refuseByTasks(paid, operation.task?.openMax ?? 0, gate);
    checkHeld(held, paid);
  } catch (error) {
    await gate.limiter.giveBack(wants, turn.takenAtMs);
    await giveTurnBack(turn, gate);
    if (tokensWanted) call.known.tokens = await gate.limiter.look(tokensWanted);
    throw error;
  }
  noteQuota(call, taken);
  return { turn, share: new Share(wants, turn.takenAtMs, gate.limiter) };
}

/** What a call took of its key's limits. It is kept as long as a stream lasts; the turn, which holds the whole request, is not. */
export class Share {
  readonly #wants: readonly Want[];
  readonly #takenAtMs: number;
  readonly #limiter: Gate["limiter"];
  #tokensUsed = 0;

  constructor(wants: readonly Want[], takenAtMs: number, limiter: Gate["limiter"]) {
    this.#wants = wants;
    this.#takenAtMs = takenAtMs;
    this.#limiter = limiter;
  }

  /** Notes what was really used, for when it ends. */
  used(quantities: Quantities): void {
    const { input, output, cacheRead, cacheWrite } = tokenTotals(quantities);
    this.#tokensUsed = input + output + cacheRead + cacheWrite;
  }

  /** Returns the slot. May be repeated: a caller who leaves a stream returns it before the stream has ended. */
  freeSlot(): void | Promise<void> {
    for (const want of this.#wants) {
      if (want.kind === "slot") return this.#limiter.freeSlot(want.name, want.holder);
    }
  }

  /** Returns the slot, and replaces the estimated tokens by the real ones. */
  end(): void | Promise<void> {
    const freed = this.freeSlot();
    return freed instanceof Promise ? freed.then(() => this.#correct()) : this.#correct();
  }

  /** Of what forgets by the minute, a call takes tokens alone. */
  #correct(): void | Promise<void> {
    for (const want of this.#wants) {
      if (want.kind === "rate") {
        return this.#limiter.correct(want.name, this.#tokensUsed - want.amount, this.#takenAtMs);
      }
    }
  }
}

const takesSlot = ({ limits }: SoldOperation, { streaming }: PricedCall): boolean =>
  limits?.slot === "always" || (limits?.slot === "streaming" && streaming);

const ownLimits = ({ call, caller }: PaidCall) =>
  limitsOf(call.offer.tiers[caller.tier], caller.grantedLimits);

function wantedTokens(paid: PaidCall): Want | undefined {
  const { tokens } = paid.priced.estimate;
  return tokens === undefined ? undefined : keyTokens(paid.caller.keyId, tokens, ownLimits(paid).tpm);
}

function wantsOf(paid: PaidCall, tokens: Want | undefined): Want[] {
  const { call, operation, priced, caller } = paid;
  const wants = tokens ? [tokens] : [];
  if (takesSlot(operation, priced)) wants.push(keySlot(caller.keyId, call.id, ownLimits(paid).concurrency));
  return wants;
}

/** A repeated request is told so, even when it would be refused for another reason too. */
async function checkEarlier(
  { call, operation, caller, wishes: { claim } }: PaidCall,
  gate: Gate,
): Promise<void> {
  const earlier = claim && (await gate.ledger.findEarlier(caller.accountId, claim, call.receivedAtMs));
  if (earlier) refuseEarlier(earlier, operation.idempotency?.codePrefix);
}

/** Nobody knows when a task ends; most take less than a minute and a half. */
const taskRetrySeconds = 5;

async function refuseByTasks({ call }: PaidCall, openMax: number, gate: Gate): Promise<never> {
  await returnCounted(call, gate);
  return refuse("quota_exceeded", `The number of tasks this key may have open at once is ${openMax}.`, {
    retryAfterSeconds: taskRetrySeconds,
    inError: {
      limit: {
        name: "concurrent_tasks",
        limit: openMax,
        remaining: 0,
        reset: resetSeconds(taskRetrySeconds * 1000, call.receivedAtMs),
      },
    },
  });
}

function refuseByCap(atMostMicros: Micros, capMicros: Micros): never {
  refuse(
    "estimated_price_exceeds_max_price",
    `The call may cost ${atMostMicros} micro-USD; the cap is ${capMicros}.`,
    {
      inError: amounts(atMostMicros, capMicros),
    },
  );
}

function checkHeld(result: HoldResult, { call, operation, priced, caller }: PaidCall): void {
  const { atMostMicros } = priced;
  const { budget } = caller;
  switch (result.kind) {
    case "held":
    case "too_many_tasks":
      return;
    case "idempotency_conflict":
      return refuseEarlier(result.earlier, operation.idempotency?.codePrefix);
    case "account_suspended":
      return refuseSuspended();
    case "budget_exceeded": {
      const { spentMicros, heldMicros } = result;
      return refuse(
        "budget_exceeded",
        `The call may cost ${atMostMicros} micro-USD; of this key's ${budget?.window} budget of ${budget?.limitMicros}, ` +
          `${spentMicros} are spent and ${heldMicros} held by running calls.`,
        {
          inError: {
            ...amounts(atMostMicros, budget?.limitMicros ?? 0n),
            window: budget?.window,
            spent_micros_usd: Number(spentMicros),
            held_micros_usd: Number(heldMicros),
          },
        },
      );
    }
    case "grant_ended":
      return refuse("invalid_api_key", "This access token is not valid.");
    case "grant_day_exceeded":
      return refuseByGrantDay(atMostMicros, caller.grant, result);
    case "approval_required":
      return refuseUnapproved(result.reason, atMostMicros, coveredMicros(call, caller));
    case "insufficient_balance":
      return refuse(
        "insufficient_balance",
        `The call may cost ${atMostMicros} micro-USD; ${result.availableMicros} are available.`,
        { inError: amounts(atMostMicros, result.availableMicros) },
      );
  }
}

const amounts = (estimatedMicros: Micros, limitMicros: Micros) => ({
  retryable: false,
  estimated_micros_usd: Number(estimatedMicros),
  limit_micros_usd: Number(limitMicros),
});

/** What was asked for is also what is charged, should a success not say how long it is. */
function newTaskOf({ call, operation, priced, taskId }: PaidCall): NewTask | undefined {
  if (taskId === undefined || !operation.task) return undefined;
  const { openMax } = operation.task;
  const { expected } = priced.estimate;
  return { id: taskId, expected, deadlineAtMs: call.receivedAtMs + taskLifeMs, openMax };
}

function holdRequest(paid: PaidCall): HoldRequest {
  const { call, operation, priced, caller, wishes } = paid;
  return {
    callId: call.id,
    accountId: caller.accountId,
    keyId: caller.keyId,
    operationId: operation.id,
    model: priced.model?.id,
    amountMicros: priced.atMostMicros,
    terms: priced.terms,
    multiplierPpm: priced.multiplierPpm,
    createdAtMs: call.receivedAtMs,
    budget: caller.budget,
    grant: caller.grant && { id: caller.grant.id, perDayMicros: caller.grant.spendPolicy.perDayMicros },
    coveredMicros: coveredMicros(call, caller),
    approval: call.approval?.claim,
    idempotency: wishes.claim,
    task: newTaskOf(paid),
  };
}

async function wouldHold(paid: PaidCall, gate: Gate): Promise<HoldResult> {
  try {
    return await gate.ledger.wouldHold(holdRequest(paid));
  } catch (error) {
    return unbooked(error, paid, gate);
  }
}

/** Where the ledger cannot answer, the caller hears that nothing was done and that trying again may help. */
const unbooked = (error: unknown, { call }: PaidCall, gate: Gate): never =>
  refuseUnbooked(
    error,
    call,
    { message: "The call could not be booked, so it was not made.", retryable: true },
    gate,
  );
