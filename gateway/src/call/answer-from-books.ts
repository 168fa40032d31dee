import type { Credential } from "../keys/keys.ts";
import type { CallInput, OwnOperation } from "../operation/operation.ts";
import { jsonAnswer, type Answer } from "./call.ts";
import type { Gate } from "./gate.ts";

/** A free operation that the gateway answers itself: nothing is held, nothing leaves. */
export async function answerFromBooks(
  operation: OwnOperation,
  input: CallInput,
  caller: Credential,
  gate: Gate,
): Promise<Answer> {
  const { accountId, keyId, scope, budget } = caller;
  const asker = { accountId, keyId, scope, budget, nowMs: gate.clock.wallMs() };
  return jsonAnswer(200, await operation.answer(input, asker, gate.books));
}
