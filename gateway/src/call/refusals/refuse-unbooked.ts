import { InDoubt, NotWritten, StoreBusy } from "../../ledger/store-errors.ts";
import { CallRefused } from "../../platform/refusals.ts";
import type { Call } from "../call.ts";
import type { Gate } from "../gate.ts";

interface Told {
  readonly message: string;
  readonly retryable: boolean;
}

/** The books cannot be written. Money fails closed: nothing is sent, or nothing is delivered. */
export function refuseUnbooked(
  error: unknown,
  call: Pick<Call, "id">,
  told: Told,
  gate: Pick<Gate, "storeNews">,
): never {
  gate.storeNews.failed("the ledger could not be written", error, call.id);
  throw unbooked(error, told);
}

export function unbooked(error: unknown, { message, retryable }: Told): CallRefused {
  const code = error instanceof StoreBusy ? "billing_dependency_timeout" : "billing_unavailable";
  return new CallRefused(code, message, {
    inError: { retryable },
    ...(retryable ? { retryAfterSeconds: 1 } : {}),
  });
}

/** What the books say; refuses, and nothing was done, where they cannot be read. */
export async function readBooks<Told>(
  reading: Promise<Told>,
  call: Pick<Call, "id">,
  gate: Pick<Gate, "storeNews">,
): Promise<Told> {
  try {
    return await reading;
  } catch (error) {
    const told = whyUnread(error);
    if (!told) throw error;
    return refuseUnbooked(error, call, told, gate);
  }
}

/** What is told of books that somebody else keeps from being read; undefined where something else went wrong. */
export const whyUnread = (error: unknown): Told | undefined =>
  error instanceof NotWritten
    ? { message: "The books could not be read, so nothing was done.", retryable: true }
    : undefined;

/** What is told of a change that costs nothing and was to be written down; undefined where something else went wrong. */
export function whyUnwritten(error: unknown): Told | undefined {
  if (error instanceof NotWritten)
    return { message: "This could not be written down, so nothing was done.", retryable: true };
  if (error instanceof InDoubt)
    return {
      message: "It is not known whether this was written down; look before you ask for it again.",
      retryable: false,
    };
  return undefined;
}
