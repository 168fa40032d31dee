import { StoreBusy } from "../ledger/store-errors.ts";
import { describeError } from "../platform/log.ts";
import { CallRefused } from "../platform/refusals.ts";
import type { Call } from "./call.ts";
import type { Gate } from "./gate.ts";

/** The books cannot be written. Money fails closed: nothing is sent, or nothing is delivered. */
export function refuseUnbooked(
  error: unknown,
  call: Pick<Call, "id">,
  told: { readonly message: string; readonly retryable: boolean },
  gate: Pick<Gate, "log">,
): never {
  gate.log.error("the ledger could not be written", { request_id: call.id, ...describeError(error) });
  throw unbooked(error, told);
}

export function unbooked(
  error: unknown,
  { message, retryable }: { readonly message: string; readonly retryable: boolean },
): CallRefused {
  const code = error instanceof StoreBusy ? "billing_dependency_timeout" : "billing_unavailable";
  return new CallRefused(code, message, {
    inError: { retryable },
    ...(retryable ? { retryAfterSeconds: 1 } : {}),
  });
}
