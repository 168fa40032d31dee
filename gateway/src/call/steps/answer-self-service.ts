import { limitsOfCaller } from "../../offer/limits-of-caller.ts";
import { changesFreely, type OwnOperation } from "../../operation/operation.ts";
import { CallRefused } from "../../platform/refusals.ts";
import { jsonAnswer, type Answer } from "../call.ts";
import type { Gate } from "../gate.ts";
import { returnCounted } from "../limits/return-counted.ts";
import { refuseUnbooked, whyUnread, whyUnwritten } from "../refusals/refuse-unbooked.ts";
import type { ValidCall } from "../valid-call.ts";

/** A free operation that the gateway answers itself: nothing is held, nothing leaves. */
export async function answerSelfService(
  { call, operation, input, caller, wishes: { claim: idempotency } }: ValidCall<OwnOperation>,
  gate: Gate,
): Promise<Answer> {
  const { accountId, keyId, scope, budget, grant, tier, allowedModels, allowedOperations } = caller;
  const limits = limitsOfCaller(call.offer, caller);
  const nowMs = gate.clock.wallMs();
  const { id: requestId, confirmsLinks } = call;
  const who = { accountId, keyId, scope, budget, grant, tier, limits, allowedModels, allowedOperations };
  const asker = { ...who, nowMs, requestId, idempotency, confirmsLinks };
  try {
    return jsonAnswer(200, await operation.answer(input, asker, gate.selfService));
  } catch (error) {
    if (error instanceof CallRefused && error.status === 429) await returnCounted(call, gate);
    const why = changesFreely(operation) ? whyUnwritten(error) : whyUnread(error);
    if (!why) throw error;
    return refuseUnbooked(error, call, why, gate);
  }
}
