import type { HoldResult, Resolved } from "../../ledger/ledger.ts";
import { InDoubt, StoreBusy } from "../../ledger/store-errors.ts";
import type { Wish } from "./decide-wishes.ts";

/** A wish, and who waits for its answer. */
export interface Queued {
  readonly wish: Wish;
  readonly waiting: PromiseWithResolvers<HoldResult | Resolved>;
  readonly deadlineMs: number;
  /** A commit with it broke off; it is asked again, and told as doubtful should nobody ever answer. */
  isInDoubt: boolean;
}

/** The wishes that wait for a transaction, in the order in which they came. */
export interface WaitingLine {
  readonly join: (wish: Wish, patienceMs: number) => Promise<HoldResult | Resolved>;
  /** How many wait their turn. */
  readonly waiting: () => number;
  readonly takeNext: () => readonly Queued[];
  /** Before all others, because they had their turn and it came to nothing. */
  readonly putBack: (batch: readonly Queued[]) => void;
  /** What would have to wait for somebody else, and has its turn by itself, so that nobody waits with it. */
  readonly postpone: (batch: readonly Queued[]) => void;
  readonly postponed: () => number;
  /** Those that wait for the same as the one that was postponed first. */
  readonly takePostponed: () => readonly Queued[];
  /** Whoever is late has been told so, or is now, and may have given up: what they wished for must not come about later. */
  readonly inTime: (batch: readonly Queued[], cause: unknown) => readonly Queued[];
  readonly refuseLate: (cause: unknown) => void;
}

/** Bounds how long one transaction keeps the rows of its accounts. */
const batchMax = 256;

export function createWaitingLine(monotonicMs: () => number, waitsFor: (wish: Wish) => string): WaitingLine {
  let line: Queued[] = [];
  let aside: Queued[] = [];

  const inTime = (batch: readonly Queued[], cause: unknown): Queued[] => {
    const nowMs = monotonicMs();
    return batch.filter((queued) => {
      if (queued.deadlineMs > nowMs) return true;
      refuse(queued, cause);
      return false;
    });
  };

  return {
    join: (wish, patienceMs) => {
      const waiting = Promise.withResolvers<HoldResult | Resolved>();
      line.push({ wish, waiting, deadlineMs: monotonicMs() + patienceMs, isInDoubt: false });
      return waiting.promise;
    },
    waiting: () => line.length,
    takeNext: () => line.splice(0, batchMax),
    putBack: (batch) => void (line = [...batch, ...line]),
    postpone: (batch) => void aside.push(...batch),
    postponed: () => aside.length,
    takePostponed: () => {
      const first = aside[0] && waitsFor(aside[0].wish);
      const taken = new Set(aside.filter(({ wish }) => waitsFor(wish) === first).slice(0, batchMax));
      aside = aside.filter((queued) => !taken.has(queued));
      return [...taken];
    },
    inTime,
    refuseLate: (cause) => {
      line = inTime(line, cause);
      aside = inTime(aside, cause);
    },
  };
}

const refuse = ({ waiting, isInDoubt }: Queued, cause: unknown): void =>
  waiting.reject(isInDoubt ? new InDoubt({ cause }) : new StoreBusy({ cause }));
