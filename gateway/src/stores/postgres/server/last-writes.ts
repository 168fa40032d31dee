import { InDoubt, NotWritten } from "../../../ledger/store-errors.ts";
import { isInTheWay } from "./failures.ts";

/**
 * Whether what this process lives by could be written the last time. A server may answer every question and take no write:
 * its disk is full, or a privilege was taken back.
 */
export interface LastWrites {
  readonly succeeded: (what: WriteKind) => void;
  readonly failed: (what: WriteKind, error: unknown) => void;
  /** Throws why nothing could be written. */
  readonly check: () => void;
}

/** Money, or a sign of life. */
type WriteKind = "decision" | "beat";

/** A node that is not ready gets no calls, so it has nothing to write and would never find out that it could again. */
const rememberedMs = 10_000;

export function createLastWrites(monotonicMs: () => number): LastWrites {
  const failures = new Map<WriteKind, { readonly error: unknown; readonly atMs: number }>();
  return {
    succeeded: (what) => {
      // A beat needs no new room, so it says nothing about money.
      if (what === "decision") failures.clear();
      else failures.delete(what);
    },
    failed: (what, error) => {
      if (isOfServer(error)) failures.set(what, { error, atMs: monotonicMs() });
    },
    check: () => {
      for (const { error, atMs } of failures.values()) if (monotonicMs() - atMs < rememberedMs) throw error;
    },
  };
}

/** One account that somebody has locked, or a batch that cannot be decided, says nothing about the others. */
const isOfServer = (error: unknown): boolean =>
  (error instanceof NotWritten || error instanceof InDoubt) && !isInTheWay(error.cause);
