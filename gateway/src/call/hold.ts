import type { HoldRequest, HoldResult } from "../ledger/ledger.ts";
import { refuseEarlier } from "../ledger/refuse-earlier.ts";
import { refuseSuspended } from "../ledger/refuse-suspended.ts";
import type { Micros } from "../platform/money.ts";
import { CallRefused, refuse } from "../platform/refusals.ts";
import { taskLifeMs, type NewTask } from "../tasks/task.ts";
import { withdraw, type Admission } from "./admit.ts";
import { checkEarlier } from "./check-earlier.ts";
import { endLater } from "./end-later.ts";
import type { Gate } from "./gate.ts";
import type { PaidCall } from "./paid-call.ts";
import { resetSeconds, returnCounted } from "./refuse-by-limit.ts";
import { refuseUnbooked } from "./refuse-unbooked.ts";
import { coveredMicros, refuseByGrantDay, refuseUnapproved } from "./spend-policy.ts";

/**
 * Takes the call's idempotency key, its budget and a durable hold on the most it can cost, all or nothing. A hold that
 * does not fit is never shrunk.
 */
export function hold(paid: PaidCall, gate: Gate): Promise<HoldResult> {
  const { priced, wishes, acting } = paid;
  const { capMicros } = wishes;
  if (capMicros !== undefined && priced.atMostMicros > capMicros) return refuseByCap(paid, capMicros, gate);
  if (acting?.kind === "refused") return refuseToAct(paid, acting.refusal, gate);
  return gate.ledger.hold(holdRequest(paid));
}

type Refusal = Exclude<HoldResult, { kind: "held" }>;

/**
 * Nothing is held, so everything that was taken goes back. A refusal is told as it is; where the ledger cannot answer, the
 * caller hears that nothing was done, and may try again.
 */
export async function giveUp(
  error: unknown,
  admission: Admission,
  paid: PaidCall,
  gate: Gate,
): Promise<never> {
  const { call } = paid;
  // First of all: should the hold be on disk all the same, it must not stay there, whatever else fails.
  if (!(error instanceof CallRefused)) endLater(call.id, gate);
  await withdraw(admission, paid, gate);
  if (error instanceof CallRefused) throw error;
  const message = "The call could not be booked, so it was not made.";
  return refuseUnbooked(error, call, { message, retryable: true }, gate);
}

/** What stands against the hold, as the caller is told it. */
export async function refuseHold(result: Refusal, paid: PaidCall, gate: Gate): Promise<never> {
  const { call, operation, priced, caller } = paid;
  const { atMostMicros } = priced;
  const { budget } = caller;
  switch (result.kind) {
    case "too_many_tasks":
      return refuseByTasks(paid, operation.task?.openMax ?? 0, gate);
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

async function refuseByCap(paid: PaidCall, capMicros: Micros, gate: Gate): Promise<never> {
  const { operation, caller } = paid;
  const { atMostMicros } = paid.priced;
  await checkEarlier(paid, gate);
  const open = operation.task && (await gate.tasks.countOpen(caller.keyId));
  if (operation.task && open !== undefined && open >= operation.task.openMax) {
    await refuseByTasks(paid, operation.task.openMax, gate);
  }
  return refuse(
    "estimated_price_exceeds_max_price",
    `The call may cost ${atMostMicros} micro-USD; the cap is ${capMicros}.`,
    {
      inError: amounts(atMostMicros, capMicros),
    },
  );
}

/** Told last: who could not pay, or has asked before, hears that first. Nothing is held or written for it. */
async function refuseToAct(paid: PaidCall, refusal: CallRefused, gate: Gate): Promise<never> {
  const held = await gate.ledger.wouldHold(holdRequest(paid));
  if (held.kind !== "held") await refuseHold(held, paid, gate);
  throw refusal;
}

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
