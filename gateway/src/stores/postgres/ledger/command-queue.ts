import type { HoldRequest, HoldResult, Release, Resolved, Settlement } from "../../../ledger/ledger.ts";
import { InDoubt, StoreBusy } from "../../../ledger/store-errors.ts";
import type { Quantities } from "../../../prices/quantities.ts";
import { nextTurn } from "../../../platform/next-turn.ts";
import type { TransitMap } from "../../../platform/transit-map.ts";
import { endingPatienceMs, patienceOfCallersMs } from "../../patience.ts";
import { createCallNotes } from "./call-notes.ts";
import type { Database } from "../server/database.ts";
import type { Postable } from "./decide-commands.ts";
import { isLockedAway, isPassing, toldAs } from "../server/failures.ts";
import { CameLater, decideBatch, RunEnded, type Locking } from "./ledger-batch.ts";
import { callIdOf, type AnswerTo, type CommandAnswer, type LedgerCommand } from "./ledger-command.ts";
import type { Runs } from "./runs.ts";
import { createWaitingLine, type QueuedCommand } from "./waiting-line.ts";

export interface QueueParts {
  readonly db: Database;
  readonly runs: Runs;
  readonly monotonicMs: () => number;
  /** The accounts of calls that this process holds, and will end itself. */
  readonly openCalls: TransitMap<string>;
  readonly onCommit: (writes: number) => void;
  /** A write failed that nobody waits for: notes, signs of life, and the ends of calls that others left. */
  readonly onLostNote: (what: string, error: unknown) => void;
}

export interface CommandQueue {
  readonly hold: (request: HoldRequest) => Promise<HoldResult>;
  readonly settle: (settlement: Settlement) => Promise<Resolved>;
  readonly release: (release: Release) => Promise<Resolved>;
  /** Nobody waits for these; they are written with what comes next, or soon. */
  readonly noteDispatched: (callId: string, atMs: number) => void;
  readonly noteProgress: (callId: string, used: Quantities) => void;
  /** Writes everything that waits. */
  readonly finish: () => Promise<void>;
}

const retryMs = 20;
/** After waiting for a locked account without success, batches skip locked accounts for this long. */
const hastyMs = 5_000;
/** How often callers whose patience has ended are looked for. */
const lateEveryMs = 250;

/**
 * Commands that come in one turn, and while a transaction is under way, are decided and written by the next one, in the
 * order in which they came: `ledger-batch.ts` says how.
 */
export function createCommandQueue(parts: QueueParts): CommandQueue {
  const { db, runs, monotonicMs, openCalls, onCommit, onLostNote } = parts;
  const accountOf = (command: LedgerCommand): string | undefined =>
    command.kind === "hold" ? command.request.accountId : openCalls.get(callIdOf(command));
  const line = createWaitingLine(monotonicMs, (command) => accountOf(command) ?? callIdOf(command));
  let hastyUntilMs = Number.NEGATIVE_INFINITY;
  /** The last failure since the last successful write; the cause given to callers who run out of patience. */
  let trouble: unknown;
  let underWay: readonly QueuedCommand[] = [];
  let underWaySinceMs = Number.NEGATIVE_INFINITY;
  let writing: Promise<void> | undefined;
  const known: Postable = { keys: new Map(), priceVersions: new Set() };
  const notes = createCallNotes(() => {
    if (runs.current() !== undefined) writeSoon();
  });

  const ask = <Command extends LedgerCommand>(
    command: Command,
    patienceMs: number,
  ): Promise<AnswerTo<Command>> => {
    const answer = line.join(command, patienceMs);
    writeSoon();
    // The line keeps commands of all kinds; each is answered by the one function that decides its kind.
    return answer as Promise<AnswerTo<Command>>;
  };

  const writeSoon = (): void => {
    writing ??= writeAll();
  };

  const writeAll = async (): Promise<void> => {
    // Whatever this turn brings goes together.
    await nextTurn();
    const impatience = setInterval(giveUpLate, lateEveryMs);
    try {
      while (line.waiting() > 0 || line.postponed() > 0 || notes.areDue()) {
        if (line.waiting() > 0 || notes.areDue()) {
          const isWritten = await writeBatch(line.takeNext(), isHasty() ? "skip" : "wait");
          // Notes go with the next command, which may have come meanwhile, or when their time comes again.
          if (!isWritten && underWay.length + line.waiting() + line.postponed() === 0) return;
        }
        if (line.postponed() > 0) await writeBatch(line.takePostponed(), "wait briefly");
      }
    } finally {
      clearInterval(impatience);
      underWay = [];
      // In the same breath as the last look at the queue: whoever comes later begins anew.
      writing = undefined;
    }
  };

  const isHasty = (): boolean => monotonicMs() < hastyUntilMs;

  const writeBatch = async (batch: readonly QueuedCommand[], locking: Locking): Promise<boolean> => {
    underWay = batch;
    underWaySinceMs = monotonicMs();
    const failure = await failureOf(writeTogether(batch, locking));
    if (failure) await recover(failure.error, batch, locking);
    return failure === undefined;
  };

  /** A server that answers nothing must not keep callers beyond their patience. What is under way may still be written. */
  const giveUpLate = (): void => {
    const nowMs = monotonicMs();
    // A batch that fails at once says itself whether it can have been written.
    const isStuck = nowMs - underWaySinceMs >= lateEveryMs;
    for (const { waiting, deadlineMs } of isStuck ? underWay : [])
      if (deadlineMs <= nowMs) waiting.reject(new InDoubt());
    line.refuseLate(trouble);
  };

  const writeTogether = async (batch: readonly QueuedCommand[], locking: Locking): Promise<void> => {
    const due = notes.due();
    const decided = await db.decide((query) =>
      decideBatch(
        query,
        {
          runId: runs.current(),
          commands: batch.map(({ command }) => command),
          inDoubt: new Set(batch.flatMap(({ command, isInDoubt }) => (isInDoubt ? callIdOf(command) : []))),
          notes: due,
          dispatchedAtMs: notes.dispatchedAtMs,
          known,
        },
        { accountOf: (callId) => openCalls.get(callId), locking },
      ),
    );
    trouble = undefined;
    onCommit(batch.length);
    notes.forget(due);
    const left: QueuedCommand[] = [];
    for (const [at, queued] of batch.entries()) {
      const answer = decided[at];
      if (answer === undefined) throw new Error("A batch answers each of its commands.");
      if ("postponed" in answer) left.push(queued);
      else tell(queued, answer);
    }
    line.postpone(line.inTime(left, undefined));
    if (left.length > 0 && left.length === batch.length) await Bun.sleep(retryMs);
  };

  const tell = ({ command, waiting, deadlineMs }: QueuedCommand, answer: CommandAnswer): void => {
    if ("failure" in answer) return waiting.reject(answer.failure);
    if (command.kind === "hold") {
      if ("kind" in answer.result && answer.result.kind === "held") {
        // Any process may be told the end of a task, so this one might never hear of it.
        if (!command.request.task) openCalls.set(command.request.callId, command.request.accountId);
        // If this process stood still, others may have taken it for dead and given back what it held.
        if (deadlineMs <= monotonicMs()) return waiting.reject(new InDoubt());
      }
    } else {
      openCalls.delete(callIdOf(command));
      notes.drop(callIdOf(command));
    }
    waiting.resolve(answer.result);
  };

  /** Tries again what may pass, for as long as its callers wait; fails alone what fails by itself. */
  const recover = async (
    error: unknown,
    batch: readonly QueuedCommand[],
    locking: Locking,
  ): Promise<void> => {
    if (error instanceof RunEnded) {
      // Another process took this one for dead: what it held has been ended, or will be, and asking again says how. Or
      // somebody restored older books, which may not have the keys and prices that were seen.
      known.keys.clear();
      known.priceVersions.clear();
      // Should it fail, the batch finds the run ended once more when it is tried again.
      await runs.goOnAfter(error.runId).catch(() => {});
    }
    if (!mayPass(error)) return batch.length > 1 ? oneByOne(batch, locking) : fail(batch, error);
    for (const queued of batch) queued.isInDoubt ||= error instanceof InDoubt;
    trouble = causeOf(error);
    const left = line.inTime(batch, trouble);
    const isLocked = isLockedAway(trouble);
    if (isLocked) hastyUntilMs = monotonicMs() + hastyMs;
    if (isLocked && locking === "wait briefly") line.postpone(left);
    else line.putBack(left);
    if (batch.length === 0) onLostNote("a note about a call", error);
    await Bun.sleep(retryMs);
  };

  /** Goes on until a failure that may pass, such as a lost server: then all that are left are tried again together. */
  const oneByOne = async (batch: readonly QueuedCommand[], locking: Locking): Promise<void> => {
    for (const [at, queued] of batch.entries()) {
      const failure = await failureOf(writeTogether([queued], locking));
      if (!failure) continue;
      if (mayPass(failure.error)) return recover(failure.error, batch.slice(at), locking);
      fail([queued], failure.error);
    }
  };

  const fail = (batch: readonly QueuedCommand[], error: unknown): void => {
    for (const { waiting } of batch) waiting.reject(toldAs(error));
    if (batch.length === 0) onLostNote("a note about a call", error);
  };

  return {
    hold: (request) => ask({ kind: "hold", request }, patienceOfCallersMs),
    settle: (settlement) => ask({ kind: "settle", settlement }, endingPatienceMs),
    release: (release) => ask({ kind: "release", release }, endingPatienceMs),
    noteDispatched: notes.dispatched,
    noteProgress: notes.progress,
    finish: async () => {
      notes.hurry();
      writeSoon();
      await writing;
    },
  };
}

const causeOf = (error: unknown): unknown => (error instanceof StoreBusy ? error.cause : error);

/** Whether the same again may work. */
const mayPass = (error: unknown): boolean =>
  error instanceof InDoubt ||
  error instanceof RunEnded ||
  error instanceof CameLater ||
  isPassing(causeOf(error));

const failureOf = (doing: Promise<void>): Promise<{ readonly error: unknown } | undefined> =>
  doing.then(
    () => undefined,
    (error: unknown) => ({ error }),
  );
