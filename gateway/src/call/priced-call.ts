import type { Acting } from "../links/act-for.ts";
import type { SoldOperation } from "../operation/operation.ts";
import type { Call } from "./call.ts";
import type { CallPrice } from "./call-price.ts";
import type { ValidCall } from "./valid-call.ts";

/** A call of a sold operation with everything that is known about it once it is priced. Nothing is held for it yet. */
export interface PricedCall extends ValidCall<SoldOperation> {
  readonly price: CallPrice;
  /** In whose name, for an operation that acts for a linked account. */
  readonly acting: Acting | undefined;
  /** The task that the call begins, where its operation has tasks. */
  readonly taskId: string | undefined;
}

/** What a call is booked by. */
export interface BookedCall extends Omit<PricedCall, "call" | "offered" | "input" | "acting"> {
  readonly call: Pick<Call, "id" | "known" | "receivedAtMs" | "approval">;
}

/**
 * All that a stream keeps of its call: what was asked has left, and may be megabytes. Something was done for it, so the
 * approval that it used up is never given back.
 */
export const bookedCallOf = ({ call, operation, caller, wishes, price, taskId }: PricedCall): BookedCall => ({
  call: { id: call.id, known: call.known, receivedAtMs: call.receivedAtMs },
  operation,
  caller,
  wishes,
  price,
  taskId,
});
