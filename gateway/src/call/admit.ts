import type { Credential } from "../keys/keys.ts";
import type { HoldResult } from "../ledger/ledger.ts";
import type { SoldOperation } from "../operation/operation.ts";
import { describeError } from "../platform/log.ts";
import { capMicrosFromUsd, type Micros } from "../platform/money.ts";
import { refuse } from "../platform/refusals.ts";
import type { Call } from "./call.ts";
import type { Gate } from "./gate.ts";
import type { PricedCall } from "./price-call.ts";

/** Holds the most the call can cost, durably, before anything leaves. A hold that does not fit is never shrunk. */
export async function admit(
  call: Call,
  operation: SoldOperation,
  priced: PricedCall,
  caller: Credential,
  gate: Gate,
): Promise<void> {
  checkCap(call, priced.atMostMicros);
  const result = await hold(call, operation, priced, caller, gate);
  if (result.kind === "held") return;
  if (result.kind === "account_suspended") {
    refuse("account_suspended", "This account is suspended; ask the operator.");
  }
  const estimated = Number(priced.atMostMicros);
  if (result.kind === "budget_exceeded") {
    const limit = caller.budget?.limitMicros ?? 0n;
    refuse(
      "budget_exceeded",
      `The call may cost ${estimated} micro-USD, more than this key's ${caller.budget?.window} budget has left.`,
      {
        inError: {
          retryable: false,
          estimated_micros_usd: estimated,
          limit_micros_usd: Number(limit),
          spent_micros_usd: Number(result.spentMicros),
          held_micros_usd: Number(result.heldMicros),
        },
      },
    );
  }
  refuse(
    "insufficient_balance",
    `The call may cost ${estimated} micro-USD; ${result.availableMicros} are available.`,
    {
      inError: {
        retryable: false,
        estimated_micros_usd: estimated,
        limit_micros_usd: Number(result.availableMicros),
      },
    },
  );
}

/** The caller's own cap on this call, rounded down, against the worst case. */
function checkCap(call: Call, atMostMicros: Micros): void {
  if (call.maxPriceUsd === undefined) return;
  const capMicros = capMicrosFromUsd(call.maxPriceUsd);
  if (capMicros === undefined) {
    refuse("invalid_parameters", `${call.offer.headers.maxPriceUsd}: expected an amount in USD such as 0.01`);
  }
  if (atMostMicros <= capMicros) return;
  refuse(
    "estimated_price_exceeds_max_price",
    `The call may cost ${atMostMicros} micro-USD; the cap is ${capMicros}.`,
    {
      inError: {
        retryable: false,
        estimated_micros_usd: Number(atMostMicros),
        limit_micros_usd: Number(capMicros),
      },
    },
  );
}

async function hold(
  call: Call,
  operation: SoldOperation,
  priced: PricedCall,
  caller: Credential,
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
    });
  } catch (error) {
    gate.log.error("the ledger could not hold", { request_id: call.id, ...describeError(error) });
    return refuse("billing_unavailable", "The call could not be booked, so it was not made.", {
      inError: { retryable: true },
      retryAfterSeconds: 1,
    });
  }
}
