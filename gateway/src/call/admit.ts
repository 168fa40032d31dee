import type { Credential } from "../keys/keys.ts";
import type { HoldResult } from "../ledger/ledger.ts";
import { keySlot, keyTokens, slotsName, tokensName, upstreamRequests } from "../limits/call-limits.ts";
import type { Want } from "../limits/limiter.ts";
import { limitsOf } from "../limits/tiers.ts";
import type { SoldOperation } from "../operation/operation.ts";
import type { Micros } from "../platform/money.ts";
import { refuse } from "../platform/refusals.ts";
import type { Call } from "./call.ts";
import { endLater } from "./end-later.ts";
import type { Gate } from "./gate.ts";
import type { PricedCall } from "./price-call.ts";
import { refuseByLimit } from "./refuse-by-limit.ts";
import { refuseUnbooked } from "./refuse-unbooked.ts";
import { refuseEarlier } from "../ledger/refuse-earlier.ts";
import type { Wishes } from "./wishes.ts";

/** What a call took of the limits that come back when it ends. */
export interface Admission {
  /** Returns the slot, and replaces the estimated tokens by the real ones. */
  readonly end: (tokensUsed: number) => Promise<void>;
}

/**
 * Takes everything the call needs, all or nothing: its idempotency key, its share of the limits, and a durable
 * hold on the most it can cost. A hold that does not fit is never shrunk.
 */
export async function admit(
  call: Call,
  operation: SoldOperation,
  priced: PricedCall,
  caller: Credential,
  wishes: Wishes,
  gate: Gate,
): Promise<Admission> {
  const wants = wantsOf(call, operation, priced, caller);
  const take = await gate.limiter.take(wants);
  if (take.kind === "refused") {
    await checkEarlier(call, caller, wishes, gate);
    return refuseByLimit(call, take, gate);
  }
  const tokensAt = wants.findIndex(({ name }) => name === tokensName(caller.keyId));
  const tokens = take.standings[tokensAt];
  if (tokens) call.known.tokens = tokens;

  try {
    if (wishes.capMicros !== undefined && priced.atMostMicros > wishes.capMicros) {
      await checkEarlier(call, caller, wishes, gate);
      refuseByCap(priced.atMostMicros, wishes.capMicros);
    }
    checkHeld(await hold(call, operation, priced, caller, wishes, gate), priced, caller);
  } catch (error) {
    await gate.limiter.giveBack(wants, take.takenAtMs);
    throw error;
  }
  return {
    end: async (tokensUsed) => {
      if (operation.limits?.slot) await gate.limiter.freeSlot(slotsName(caller.keyId), call.id);
      const estimated = wants[tokensAt];
      if (estimated?.kind !== "rate") return;
      await gate.limiter.correct(estimated.name, tokensUsed - estimated.amount, take.takenAtMs);
    },
  };
}

function wantsOf(call: Call, operation: SoldOperation, priced: PricedCall, caller: Credential): Want[] {
  const limits = limitsOf(call.offer.tiers[caller.tier], caller.grantedLimits);
  const upstream = priced.upstreams[0];
  const wants: Want[] = [];
  if (upstream?.quotaRpm !== undefined) wants.push(upstreamRequests(upstream.name, upstream.quotaRpm));
  if (priced.estimate.tokens !== undefined)
    wants.push(keyTokens(caller.keyId, priced.estimate.tokens, limits.tpm));
  if (operation.limits?.slot) wants.push(keySlot(caller.keyId, call.id, limits.concurrency));
  return wants;
}

/** A repeated request is told so, even when it would be refused for another reason too. */
async function checkEarlier(call: Call, caller: Credential, { claim }: Wishes, gate: Gate): Promise<void> {
  const earlier = claim && (await gate.ledger.findEarlier(caller.accountId, claim, call.receivedAtMs));
  if (earlier) refuseEarlier(earlier);
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

function checkHeld(result: HoldResult, { atMostMicros }: PricedCall, { budget }: Credential): void {
  switch (result.kind) {
    case "held":
      return;
    case "idempotency_conflict":
      return refuseEarlier(result.earlier);
    case "account_suspended":
      return refuse("account_suspended", "This account is suspended; ask the operator.");
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

async function hold(
  call: Call,
  operation: SoldOperation,
  priced: PricedCall,
  caller: Credential,
  wishes: Wishes,
  gate: Gate,
): Promise<HoldResult> {
  try {
    return await gate.ledger.hold({
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
      idempotency: wishes.claim,
    });
  } catch (error) {
    // Should the hold be on disk all the same, it must not stay there.
    endLater(call.id, gate);
    return refuseUnbooked(error, call, gate, "The call could not be booked, so it was not made.", true);
  }
}
