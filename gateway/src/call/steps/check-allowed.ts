import type { AllowedNames } from "../../keys/allowed-names.ts";
import type { Credential } from "../../keys/keys.ts";
import { mayUse, mayUseModel, mayUseOperation } from "../../offer/may-use.ts";
import type { OfferedModel, OfferedOperation } from "../../offer/offer.ts";
import type { Operation } from "../../operation/operation.ts";
import { refuse } from "../../platform/refusals.ts";

/** Asked before the body is waited for: what the key may not call, nobody needs to send. */
export function checkOperationAllowed(operation: Operation, caller: Credential): void {
  const { allowedOperations } = caller;
  if (allowedOperations === undefined || mayUseOperation(caller, operation)) return;
  refuse(
    "not_allowed_for_key",
    `${keyOf(caller)} may not call ${operation.id}; it may call ${named(allowedOperations)}.`,
    { inError: { operation_id: operation.id, allowed_operations: allowedOperations.patterns } },
  );
}

/** The model that would serve is the one that counts, whoever chose it. */
export function checkModelAllowed({ id }: OfferedModel, caller: Credential): void {
  const { allowedModels } = caller;
  if (allowedModels === undefined || mayUseModel(caller, id)) return;
  refuse(
    "not_allowed_for_key",
    `${keyOf(caller)} may not use the model ${id}; it may use ${named(allowedModels)}.`,
    { field: "model", inError: { model: id, allowed_models: allowedModels.patterns } },
  );
}

/** For whoever only wants to read about an operation: none of its calls would be let through. */
export function checkUsable(offered: OfferedOperation, caller: Credential): void {
  const { operation } = offered;
  checkOperationAllowed(operation, caller);
  if (mayUse(caller, offered)) return;
  refuse("not_allowed_for_key", `${keyOf(caller)} may use none of the models of ${operation.id}.`);
}

const keyOf = ({ grant }: Credential): string =>
  grant ? "The key that this access token was granted with" : "This key";

/** A sentence stays one; the refusal has the whole list beside it. */
const namedMax = 8;

function named({ patterns }: AllowedNames): string {
  const some = patterns.slice(0, namedMax).join(", ");
  return patterns.length > namedMax ? `${some} and ${patterns.length - namedMax} more` : some;
}
