import { StoreBusy } from "../ledger/store-errors.ts";
import { describeError } from "../platform/log.ts";
import { refuse } from "../platform/refusals.ts";
import type { Call } from "./call.ts";
import type { Gate } from "./gate.ts";

/** The books cannot be written. Money fails closed: nothing is sent, or nothing is delivered. */
export function refuseUnbooked(
  error: unknown,
  call: Pick<Call, "id">,
  { message, retryable }: { readonly message: string; readonly retryable: boolean },
  gate: Gate,
): never {
  gate.log.error("the ledger could not be written", { request_id: call.id, ...describeError(error) });
  const code = error instanceof StoreBusy ? "billing_dependency_timeout" : "billing_unavailable";
  return refuse(code, message, { inError: { retryable }, ...(retryable ? { retryAfterSeconds: 1 } : {}) });
}
