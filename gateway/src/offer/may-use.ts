import type { Allowed } from "../keys/allowed-names.ts";
import { isSold, type Operation } from "../operation/operation.ts";
import type { OfferedOperation } from "./offer.ts";

/** A key is kept from what upstreams serve. What the gateway itself answers, about the account and its tasks, stays open. */
export const mayUseOperation = ({ allowedOperations }: Allowed, operation: Operation): boolean =>
  allowedOperations === undefined || !isSold(operation) || allowedOperations.has(operation.id);

export const mayUseModel = ({ allowedModels }: Allowed, model: string): boolean =>
  allowedModels === undefined || allowedModels.has(model);

/** Whether there is a call of this operation that the key may make. */
export const mayUse = (allowed: Allowed, { operation, models }: OfferedOperation): boolean =>
  mayUseOperation(allowed, operation) &&
  (models.size === 0 || models.keys().some((model) => mayUseModel(allowed, model)));
