import type { Credential } from "../keys/keys.ts";
import type { OfferedOperation } from "../offer/offer.ts";
import type { CallInput } from "../operation/call-input.ts";
import {
  isAboutTask,
  isSold,
  type Operation,
  type SoldOperation,
  type TaskOperation,
} from "../operation/operation.ts";
import type { Call } from "./call.ts";
import type { Wishes } from "./steps/wishes.ts";

/** A call that was let in and understood. There is one kind of it for each kind of operation. */
export type ValidCall<Op extends Operation = Operation> = Op extends Operation ? ValidCallOf<Op> : never;

interface ValidCallOf<Op extends Operation> {
  readonly call: Call;
  readonly operation: Op;
  readonly offered: OfferedOperation;
  readonly input: CallInput;
  readonly caller: Credential;
  readonly wishes: Wishes;
}

export const asksAboutTask = (valid: ValidCall): valid is ValidCall<TaskOperation> =>
  isAboutTask(valid.operation);

export const asksUpstream = (valid: ValidCall): valid is ValidCall<SoldOperation> => isSold(valid.operation);
