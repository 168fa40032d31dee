import type { HoldRequest, HoldResult, Release, Resolved, Settlement } from "../../ledger/ledger.ts";
import { InDoubt, StoreBusy } from "../../ledger/store-errors.ts";
import type { Quantities } from "../../prices/quantities.ts";
import type { TransitMap } from "../../platform/transit-map.ts";
import { endingPatienceMs, patienceOfCallersMs } from "../patience.ts";
import { createCallNotes } from "./call-notes.ts";
import type { Database } from "./database.ts";
import { callIdOf, type Granted, type Postable, type Wish } from "./decide-wishes.ts";
import { isLockedAway, isPassing, toldAs } from "./failures.ts";
import { CameLater, decideBatch, RunEnded, type Locking } from "./ledger-batch.ts";
import type { Runs } from "./runs.ts";
import { createWaitingLine, type Queued } from "./waiting-line.ts";

export interface QueueParts {
  readonly db: Database;
  readonly runs: Runs;
  readonly monotonicMs: () => number;
  /** The accounts of calls that this process holds, and will end itself. */
  readonly openCalls: TransitMap<string>;
  readonly onCommit: (writes: number) => void;
  /** Nobody waits for what time brings: notes, signs of life, and the ends of calls that others left. */
  readonly onLostNote: (error: unknown) => void;
}

export interface WishQueue {
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
/** So long accounts are not waited for, together with others, after one was waited for in vain. */
const hastyMs = 5_000;
/** How often those are looked for whose patience has ended. */
const lateEveryMs = 250;

/**
 * What is wished for in one turn, and while a transaction is under way, is decided and written by the next one, in the
 * order in which it came: `ledger-batch.ts` says how.
 */
export function createWishQueue(parts: QueueParts): WishQueue {
  const { db, runs, monotonicMs, openCalls, onCommit, onLostNote } = parts;
  const accountOf = (wish: Wish): string | undefined =>
    wish.kind === "hold" ? wish.request.accountId : openCalls.get(callIdOf(wish));
  const line = createWaitingLine(monotonicMs, (wish) => accountOf(wish) ?? callIdOf(wish));
  let hastyUntilMs = Number.NEGATIVE_INFINITY;
  /** What went wrong last, since something was written: who waits in vain does so for that. */
  let trouble: unknown;
  let underWay: readonly Queued[] = [];
  let underWaySinceMs = Number.NEGATIVE_INFINITY;
  let writing: Promise<void> | undefined;
  const known: Postable = { keys: new Map(), priceVersions: new Set() };
  const notes = createCallNotes(() => {
    if (runs.current() !== undefined) writeSoon();
  });

  const ask = <Result>(wish: Wish, patienceMs: number): Promise<Result> => {
    const answer = line.join(wish, patienceMs);
    writeSoon();
    // A hold is answered as a hold, and an end as an end.
    return answer as Promise<Result>;
  };

  const writeSoon = (): void => {
    writing ??= writeAll();
  };

  const writeAll = async (): Promise<void> => {
    // Whatever this turn brings goes together.
    await new Promise<void>((resolve) => void setImmediate(resolve));
    const impatience = setInterval(giveUpLate, lateEveryMs);
    try {
      while (line.waiting() > 0 || line.postponed() > 0 || notes.areDue()) {
        if (line.waiting() > 0 || notes.areDue()) {
          const isWritten = await writeBatch(line.takeNext(), isHasty() ? "skip" : "wait");
          // Notes go with the next wish, which may have come meanwhile, or when their time comes again.
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

  const writeBatch = async (batch: readonly Queued[], locking: Locking): Promise<boolean> => {
    underWay = batch;
    underWaySinceMs = monotonicMs();
    const failure = await failureOf(writeTogether(batch, locking));
    if (failure) await recover(failure.error, batch, locking);
    return failure === undefined;
  };

  /** A server that answers nothing must not keep callers longer than they wait. What is under way may still be written. */
  const giveUpLate = (): void => {
    const nowMs = monotonicMs();
    // What fails at once says itself whether it can have been written.
    const isStuck = nowMs - underWaySinceMs >= lateEveryMs;
    for (const { waiting, deadlineMs } of isStuck ? underWay : [])
      if (deadlineMs <= nowMs) waiting.reject(new InDoubt());
    line.refuseLate(trouble);
  };

  const writeTogether = async (batch: readonly Queued[], locking: Locking): Promise<void> => {
    const due = notes.due();
    const granted = await db.decide((query) =>
      decideBatch(query, {
        runId: runs.current(),
        wishes: batch.map(({ wish }) => wish),
        notes: due,
        dispatchedAtMs: notes.dispatchedAtMs,
        accountOf: (callId) => openCalls.get(callId),
        known,
        locking,
      }),
    );
    trouble = undefined;
    onCommit(batch.length);
    notes.forget(due);
    const left: Queued[] = [];
    for (const [at, queued] of batch.entries()) {
      const got = granted[at];
      if (got === undefined) throw new Error("A batch answers each of its wishes.");
      if ("postponed" in got) left.push(queued);
      else tell(queued, got);
    }
    line.postpone(line.inTime(left, undefined));
    if (left.length > 0 && left.length === batch.length) await Bun.sleep(retryMs);
  };

  const tell = ({ wish, waiting, deadlineMs }: Queued, granted: Told): void => {
    if ("failure" in granted) return waiting.reject(granted.failure);
    if (wish.kind === "hold") {
      if ("kind" in granted.result && granted.result.kind === "held") {
        // The end of a task may be told to any process, and this one would never hear of it.
        if (!wish.request.task) openCalls.set(wish.request.callId, wish.request.accountId);
        // A process that stood still may have been taken for dead, and what it held was given back meanwhile.
        if (deadlineMs <= monotonicMs()) return waiting.reject(new InDoubt());
      }
    } else {
      openCalls.delete(callIdOf(wish));
      notes.drop(callIdOf(wish));
    }
    waiting.resolve(granted.result);
  };

  /** Tries again what may pass, for as long as its callers wait; fails alone what fails by itself. */
  const recover = async (error: unknown, batch: readonly Queued[], locking: Locking): Promise<void> => {
    if (error instanceof RunEnded) {
      // Another process took this one for dead. Whatever it held has been ended, or will be, and asking says how. Or
      // somebody brought back older books, to which what was seen may be new.
      known.keys.clear();
      known.priceVersions.clear();
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
    if (batch.length === 0) onLostNote(error);
    await Bun.sleep(retryMs);
  };

  /** As far as the server can be reached: what may pass is tried again with all that are left. */
  const oneByOne = async (batch: readonly Queued[], locking: Locking): Promise<void> => {
    for (const [at, queued] of batch.entries()) {
      const failure = await failureOf(writeTogether([queued], locking));
      if (!failure) continue;
      if (mayPass(failure.error)) return recover(failure.error, batch.slice(at), locking);
      fail([queued], failure.error);
    }
  };

  const fail = (batch: readonly Queued[], error: unknown): void => {
    for (const { waiting } of batch) waiting.reject(toldAs(error));
    if (batch.length === 0) onLostNote(error);
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

type Told = Exclude<Granted, { readonly postponed: true }>;

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
