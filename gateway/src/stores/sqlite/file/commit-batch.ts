import type { Database } from "bun:sqlite";
import type { DiskPace } from "./disk-pace.ts";
import { isBroken, isBusy, toldAs } from "./failures.ts";
import type { QueuedWrite } from "./queued-write.ts";

/** What shares a transaction. */
export interface Batch {
  readonly writes: readonly QueuedWrite[];
  /** Nobody waits for these. */
  readonly riders: readonly Rider[];
}

export type Rider = () => void;

interface Failure {
  readonly error: unknown;
}

export interface TransactionParts {
  readonly db: Database;
  /** Runs inside each transaction before its writes. */
  readonly afterBegin: () => void;
  /** Runs inside each transaction after its writes, for what is cheaper to write once than per write. */
  readonly beforeCommit: () => void;
  /** Forgets what `beforeCommit` would have written, because the transaction was rolled back. */
  readonly onRollback: () => void;
  readonly onCommit: (writes: number) => void;
  /** Writes that nobody waits for could not be made; told once for those of one commit. */
  readonly onLostRide: (error: unknown) => void;
}

export interface BatchCommit {
  /** Commits the batch to the disk. When anything throws, all of it is undone and nobody was told anything yet. */
  readonly commit: (batch: Batch) => Failure | undefined;
  /** The same, without waiting for the disk: whoever calls this brings it there before telling anybody. */
  readonly commitUnsynced: (batch: Batch) => Failure | undefined;
  /**
   * Commits each alone, and tells it how that ended. Left are those that another process was in the way of; and, when the
   * disk broke, all that were not told.
   */
  readonly commitOneByOne: (batch: Batch) => { readonly left: Batch; readonly broken: Failure | undefined };
}

export function createBatchCommit(parts: TransactionParts, pace: DiskPace): BatchCommit {
  const begin = parts.db.query("BEGIN IMMEDIATE");
  const end = parts.db.query("COMMIT");
  const rollback = parts.db.query("ROLLBACK");
  const endNow = (): void => void end.run();
  const endWatched = (): void => pace.watch(endNow);

  const commit = (batch: Batch): Failure | undefined => transact(batch, endWatched);

  const commitUnsynced = (batch: Batch): Failure | undefined => {
    try {
      // SQLite heeds this pragma when it is prepared, so no statement is kept for it.
      parts.db.run("PRAGMA synchronous = NORMAL");
    } catch (error) {
      return { error };
    }
    const failure = transact(batch, endNow);
    parts.db.run("PRAGMA synchronous = FULL");
    return failure;
  };

  const transact = ({ writes, riders }: Batch, commitNow: () => void): Failure | undefined => {
    try {
      begin.run();
      parts.afterBegin();
      for (const ride of riders) ride();
      for (const write of writes) write.run();
      parts.beforeCommit();
      commitNow();
    } catch (error) {
      undo();
      return { error };
    }
    parts.onCommit(writes.length);
    return undefined;
  };

  const undo = (): void => {
    parts.onRollback();
    try {
      rollback.run();
    } catch {
      // No transaction was open, or SQLite has already rolled back by itself, as it does when the disk is full.
    }
  };

  const commitOneByOne: BatchCommit["commitOneByOne"] = ({ writes, riders }) => {
    const ridersLeft: Rider[] = [];
    const writesLeft: QueuedWrite[] = [];
    /** On a full disk they are many, and all for one reason. */
    let lost: Failure | undefined;
    for (const ride of riders) {
      const failure = commit({ writes: [], riders: [ride] });
      if (failure === undefined) continue;
      if (isBroken(failure.error)) return { left: { writes, riders: [] }, broken: failure };
      if (isBusy(failure.error)) ridersLeft.push(ride);
      else lost ??= failure;
    }
    if (lost) parts.onLostRide(lost.error);
    for (const [at, write] of writes.entries()) {
      // Alone in its transaction, the write that throws is the one to blame, unless another process came between.
      const failure = commit({ writes: [write], riders: [] });
      if (failure === undefined) write.tell();
      else if (isBroken(failure.error))
        return { left: { writes: [...writesLeft, ...writes.slice(at)], riders: [] }, broken: failure };
      else if (isBusy(failure.error)) writesLeft.push(write);
      else write.fail(toldAs(failure.error));
    }
    return { left: { writes: writesLeft, riders: ridersLeft }, broken: undefined };
  };

  return { commit, commitUnsynced, commitOneByOne };
}

export const isEmpty = ({ writes, riders }: Batch): boolean => writes.length + riders.length === 0;
