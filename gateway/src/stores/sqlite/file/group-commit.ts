import type { Database } from "bun:sqlite";
import { StoreBusy } from "../../../ledger/store-errors.ts";
import { patienceOfCallersMs } from "../../patience.ts";
import { DiskPace } from "./disk-pace.ts";
import { isBroken, isBusy, isFull, toldAs } from "./failures.ts";

/** Runs writes together: whatever the event loop brings, turn after turn, shares one transaction and one fsync. */
export interface GroupCommit {
  /**
   * Resolves with what `write` returned, once it is on disk. A write that throws fails alone; one that does
   * not get its turn within `patienceMs`, because another process is writing, fails with StoreBusy.
   */
  readonly run: <Result>(write: () => Result, patienceMs?: number) => Promise<Result>;
  /** As `run`, for what every call waits for: the same function for all of them, and what it is called with. */
  readonly runWith: <Asked, Result>(
    asked: Asked,
    write: (asked: Asked) => Result,
    patienceMs?: number,
  ) => Promise<Result>;
  /** Joins the next transaction without anybody waiting for it; begins one of its own only when none comes for a while. */
  readonly ride: (write: () => void) => void;
}

interface Parts {
  readonly db: Database;
  readonly monotonicMs: () => number;
  /** Brings what was committed to the disk while others are served. */
  readonly syncLog: () => Promise<void>;
  /** How long a write waits for its turn that does not say so itself. */
  readonly patienceUsualMs?: number | undefined;
  /** Runs inside each transaction before its writes. */
  readonly afterBegin: () => void;
  /** Runs inside each transaction after its writes, for what is cheaper to write once than per write. */
  readonly beforeCommit: () => void;
  /** Forgets what `beforeCommit` would have written, because the transaction was rolled back. */
  readonly onRollback: () => void;
  readonly onCommit: (writes: number) => void;
  /** The disk is full. True when room was made, so that trying once more makes sense. */
  readonly onFull: () => boolean;
  /** The disk cannot be trusted any more: after a failed fsync nobody knows what is on it. */
  readonly onBrokenDisk: (error: unknown) => void;
  /** Writes that nobody waits for could not be made; told once for those of one commit. */
  readonly onLostRide: (error: unknown) => void;
}

interface Queued {
  /** Each write is called with what it was queued with, and its result goes to the promise it was queued for. */
  readonly write: (asked: never) => unknown;
  readonly asked: unknown;
  readonly waiting: PromiseWithResolvers<never>;
  readonly patienceMs: number;
  /** When its patience ends, from when another process was first in its way; clocks are not asked before. */
  deadlineMs: number | undefined;
}

/** Bounds how long one transaction keeps the event loop; the rest waits for the next one. */
const batchMax = 256;
/**
 * A turn of the event loop takes microseconds and a commit a tenth of a millisecond, so as long as turns bring more
 * writes it is worth waiting for the next one; but not for ever.
 */
const turnsMax = 4;
/** A transaction of its own costs a rider many times what a place in another's does, and nobody waits for it. */
const ridesWithinMs = 100;
/** How soon to ask again for a lock that another process has. */
const busyRetryMs = 5;

export function createGroupCommit(parts: Parts): GroupCommit {
  const { patienceUsualMs = patienceOfCallersMs } = parts;
  const begin = parts.db.query("BEGIN IMMEDIATE");
  const commit = parts.db.query("COMMIT");
  const rollback = parts.db.query("ROLLBACK");
  const pace = new DiskPace(parts.monotonicMs);
  let queue: Queued[] = [];
  let riders: (() => void)[] = [];
  let scheduled = false;
  /** How many turns the queue has been waited for, and how long it was at the last of them. */
  let turns = 0;
  let queuedBefore = 0;
  let riderTimer: NodeJS.Timeout | undefined;

  const schedule = (): void => {
    if (scheduled) return;
    scheduled = true;
    turns = 0;
    setImmediate(gather);
  };

  const gather = (): void => {
    const isQuiet = turns > 0 && queue.length === queuedBefore;
    if (isQuiet || turns === turnsMax || queue.length >= batchMax) {
      flush();
      return;
    }
    turns++;
    queuedBefore = queue.length;
    setImmediate(gather);
  };

  const rideAlone = (): void => {
    riderTimer = undefined;
    if (riders.length > 0) schedule();
  };

  const flush = (): void => {
    scheduled = false;
    const batch = queue.splice(0, batchMax);
    const riding = riders;
    riders = [];
    if (batch.length === 0 && riding.length === 0) return;
    if (pace.isSlow()) return commitBeside(batch, riding);
    const failure = commitTogether(batch, riding);
    if (failure !== undefined) recover(failure.error, batch, riding);
    if (queue.length > 0) schedule();
  };

  /** The failure, when something threw: the transaction is undone and nobody was told anything yet. */
  const commitTogether = (
    batch: readonly Queued[],
    riding: readonly (() => void)[],
  ): { readonly error: unknown } | undefined => {
    const written = transact(batch, riding, commitWatched);
    if ("error" in written) return written;
    tell(batch, written.results);
    return undefined;
  };

  /**
   * Where the disk is slow, everybody else is served while it works. The next transaction waits for it, and so does
   * whoever has to be told.
   */
  const commitBeside = (batch: readonly Queued[], riding: readonly (() => void)[]): void => {
    scheduled = true;
    // These words are heeded when they are prepared, so no statement is kept for them.
    parts.db.run("PRAGMA synchronous = NORMAL");
    const written = transact(batch, riding, commitNow);
    parts.db.run("PRAGMA synchronous = FULL");
    if ("error" in written) {
      scheduled = false;
      recover(written.error, batch, riding);
      goOn();
      return;
    }
    parts.syncLog().then(
      () => {
        scheduled = false;
        tell(batch, written.results);
        goOn();
      },
      (error: unknown) => giveUp(error, batch),
    );
  };

  const goOn = (): void => {
    if (queue.length + riders.length > 0) schedule();
  };

  const transact = (
    batch: readonly Queued[],
    riding: readonly (() => void)[],
    end: () => void,
  ): { readonly results: readonly unknown[] } | { readonly error: unknown } => {
    const results: unknown[] = [];
    try {
      begin.run();
      parts.afterBegin();
      for (const write of riding) write();
      for (const queued of batch) results.push(queued.write(queued.asked as never));
      parts.beforeCommit();
      end();
    } catch (error) {
      undo();
      return { error };
    }
    parts.onCommit(batch.length);
    return { results };
  };

  const commitNow = (): void => void commit.run();
  const commitWatched = (): void => pace.watch(commitNow);

  const tell = (batch: readonly Queued[], results: readonly unknown[]): void => {
    for (let at = 0; at < batch.length; at++) batch[at]?.waiting.resolve(results[at] as never);
  };

  const recover = (error: unknown, batch: readonly Queued[], riding: readonly (() => void)[]): void => {
    if (isBusy(error)) return waitForTurn(batch, riding);
    if (isBroken(error)) return giveUp(error, batch);
    const again = isFull(error) && parts.onFull() ? commitTogether(batch, riding) : { error };
    if (again === undefined) return;
    if (isBroken(again.error)) return giveUp(again.error, batch);
    commitOneByOne(batch, riding);
  };

  /** Nothing more is written by whoever may not know what is on the disk. */
  const giveUp = (error: unknown, batch: readonly Queued[]): void => {
    for (const queued of batch) queued.waiting.reject(error);
    parts.onBrokenDisk(error);
  };

  /** Another process is writing. Those whose patience ends are told, however many stand before them; the others keep their place. */
  const waitForTurn = (batch: readonly Queued[], riding: readonly (() => void)[]): void => {
    const nowMs = parts.monotonicMs();
    const everybody = [...batch, ...queue];
    queue = everybody.filter((queued) => (queued.deadlineMs ??= nowMs + queued.patienceMs) > nowMs);
    for (const queued of everybody) {
      if (queued.deadlineMs !== undefined && queued.deadlineMs <= nowMs)
        queued.waiting.reject(new StoreBusy());
    }
    riders = [...riding, ...riders];
    scheduled = true;
    setTimeout(flush, busyRetryMs);
  };

  /** Alone in its transaction, the write that threw is the one to blame, unless another process came between. */
  const commitOneByOne = (batch: readonly Queued[], riding: readonly (() => void)[]): void => {
    const left: (() => void)[] = [];
    const waiting: Queued[] = [];
    /** On a full disk they are many, and all for one reason. */
    let lost: { readonly error: unknown } | undefined;
    for (const write of riding) {
      const failure = commitTogether([], [write]);
      if (failure === undefined) continue;
      if (isBroken(failure.error)) return giveUp(failure.error, batch);
      if (isBusy(failure.error)) left.push(write);
      else lost ??= failure;
    }
    if (lost) parts.onLostRide(lost.error);
    for (const [at, queued] of batch.entries()) {
      const failure = commitTogether([queued], []);
      if (failure === undefined) continue;
      if (isBroken(failure.error)) return giveUp(failure.error, [...waiting, ...batch.slice(at)]);
      if (isBusy(failure.error)) waiting.push(queued);
      else queued.waiting.reject(toldAs(failure.error));
    }
    if (waiting.length + left.length > 0) waitForTurn(waiting, left);
  };

  const undo = (): void => {
    parts.onRollback();
    try {
      rollback.run();
    } catch {
      // No transaction was open, or SQLite has already rolled back by itself, as it does when the disk is full.
    }
  };

  const runWith: GroupCommit["runWith"] = (asked, write, patienceMs = patienceUsualMs) => {
    const waiting = Promise.withResolvers<never>();
    queue.push({ write, asked, waiting, patienceMs, deadlineMs: undefined });
    schedule();
    return waiting.promise;
  };

  return {
    run: (write, patienceMs) => runWith(undefined, write, patienceMs),
    runWith,
    ride: (write) => {
      riders.push(write);
      riderTimer ??= setTimeout(rideAlone, ridesWithinMs);
    },
  };
}
