import { InDoubt, NotWritten, StoreBusy } from "../../ledger/store-errors.ts";
import { CallRefused } from "../../platform/refusals.ts";
import type { Call } from "../call.ts";
import type { Gate } from "../gate.ts";

/** What a caller is told whose call the books could not take. */
interface Unbookable {
  readonly message: string;
  readonly retryable: boolean;
  /** What the operator is told; that the ledger could not be written where it is not said. */
  readonly event?: string;
}

/** The books do not answer. Money fails closed: nothing is sent, or nothing is delivered. */
export function refuseUnbooked(
  error: unknown,
  call: Pick<Call, "id">,
  why: Unbookable,
  gate: Pick<Gate, "storeNews">,
): never {
  gate.storeNews.failed(why.event ?? "the ledger could not be written", error, { request_id: call.id });
  throw unbooked(error, why);
}

export function unbooked(error: unknown, { message, retryable }: Unbookable): CallRefused {
  const code = error instanceof StoreBusy ? "billing_dependency_timeout" : "billing_unavailable";
  return new CallRefused(code, message, {
    retryable,
    ...(retryable ? { retryAfterSeconds: 1 } : {}),
  });
}

/** For books that could not be read because of somebody else; undefined where something else went wrong. */
export const whyUnread = (error: unknown): Unbookable | undefined =>
  error instanceof NotWritten
    ? {
        message: "The books could not be read, so nothing was done.",
        retryable: true,
        event: "the books could not be read",
      }
    : undefined;

/** For a free change that could not be written down; undefined where something else went wrong. */
export function whyUnwritten(error: unknown): Unbookable | undefined {
  if (error instanceof NotWritten)
    return { message: "This could not be written down, so nothing was done.", retryable: true };
  if (error instanceof InDoubt)
    return {
      message: "It is not known whether this was written down; look before you ask for it again.",
      retryable: false,
    };
  return undefined;
}
