import type { Credential } from "../keys/keys.ts";
import { NotWritten } from "../ledger/store-errors.ts";
import { limitsOf } from "../limits/tiers.ts";
import { changesFreely, type CallInput, type OwnOperation } from "../operation/operation.ts";
import { jsonAnswer, type Answer, type Call } from "./call.ts";
import type { Gate } from "./gate.ts";
import { refuseUnbooked } from "./refuse-unbooked.ts";
import type { Wishes } from "./wishes.ts";

/** A free operation that the gateway answers itself: nothing is held, nothing leaves. */
export async function answerFromBooks(
  call: Call,
  operation: OwnOperation,
  input: CallInput,
  caller: Credential,
  { claim: idempotency }: Wishes,
  gate: Gate,
): Promise<Answer> {
  const { accountId, keyId, scope, budget, grant, tier, allowedModels, allowedOperations } = caller;
  const limits = limitsOf(call.offer.tiers[tier], caller.grantedLimits);
  const nowMs = gate.clock.wallMs();
  const { id: requestId, confirmsLinks } = call;
  const who = { accountId, keyId, scope, budget, grant, tier, limits, allowedModels, allowedOperations };
  const asker = { ...who, nowMs, requestId, idempotency, confirmsLinks };
  try {
    return jsonAnswer(200, await operation.answer(input, asker, gate.books));
  } catch (error) {
    if (!changesFreely(operation) || !(error instanceof NotWritten)) throw error;
    const message = "This could not be written down, so nothing was done.";
    return refuseUnbooked(error, call, { message, retryable: true }, gate);
  }
}
