import type { HoldResult, Resolved } from "../../../ledger/ledger.ts";
import { InDoubt, StoreBusy } from "../../../ledger/store-errors.ts";
import type { LedgerCommand } from "./ledger-command.ts";

/** A command, and who waits for its answer. */
export interface QueuedCommand {
  readonly command: LedgerCommand;
  readonly waiting: PromiseWithResolvers<HoldResult | Resolved>;
  readonly deadlineMs: number;
  /** A commit that had it broke off. It is tried again, and told as doubtful if no answer ever comes. */
  isInDoubt: boolean;
}

/** The commands that wait for a transaction, in the order in which they came. */
export interface WaitingLine {
  readonly join: (command: LedgerCommand, patienceMs: number) => Promise<HoldResult | Resolved>;
  /** How many wait for their turn. */
  readonly waiting: () => number;
  readonly takeNext: () => readonly QueuedCommand[];
  /** They stand before all others, because they had their turn and it came to nothing. */
  readonly putBack: (batch: readonly QueuedCommand[]) => void;
  /** These would have to wait for a locked account. They get a turn of their own, so that nobody waits with them. */
  readonly postpone: (batch: readonly QueuedCommand[]) => void;
  readonly postponed: () => number;
  /** The command that was postponed first, and those that wait for the same account. */
  readonly takePostponed: () => readonly QueuedCommand[];
  /** Drops the late ones: their callers are told now, or were before, and what they gave up must not come about later. */
  readonly inTime: (batch: readonly QueuedCommand[], cause: unknown) => readonly QueuedCommand[];
  readonly refuseLate: (cause: unknown) => void;
}

/** Bounds how long one transaction keeps the rows of its accounts. */
const batchMax = 256;

export function createWaitingLine(
  monotonicMs: () => number,
  waitsFor: (command: LedgerCommand) => string,
): WaitingLine {
  let line: QueuedCommand[] = [];
  let aside: QueuedCommand[] = [];

  const inTime = (batch: readonly QueuedCommand[], cause: unknown): QueuedCommand[] => {
    const nowMs = monotonicMs();
    return batch.filter((queued) => {
      if (queued.deadlineMs > nowMs) return true;
      refuse(queued, cause);
      return false;
    });
  };

  return {
    join: (command, patienceMs) => {
      const waiting = Promise.withResolvers<HoldResult | Resolved>();
      line.push({ command, waiting, deadlineMs: monotonicMs() + patienceMs, isInDoubt: false });
      return waiting.promise;
    },
    waiting: () => line.length,
    takeNext: () => line.splice(0, batchMax),
    putBack: (batch) => void (line = [...batch, ...line]),
    postpone: (batch) => void aside.push(...batch),
    postponed: () => aside.length,
    takePostponed: () => {
      const first = aside[0] && waitsFor(aside[0].command);
      const taken = new Set(aside.filter(({ command }) => waitsFor(command) === first).slice(0, batchMax));
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

const refuse = ({ waiting, isInDoubt }: QueuedCommand, cause: unknown): void =>
  waiting.reject(isInDoubt ? new InDoubt({ cause }) : new StoreBusy({ cause }));
