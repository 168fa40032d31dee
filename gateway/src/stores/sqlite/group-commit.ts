import type { Database } from "bun:sqlite";

/** Runs writes together: everything that arrives while the event loop turns shares one transaction and one fsync. */
export interface GroupCommit {
  /** Resolves with what `write` returned, once it is on disk. A write that throws fails alone. */
  readonly run: <Result>(write: () => Result) => Promise<Result>;
  /** Joins the next transaction without anybody waiting for it. */
  readonly ride: (write: () => void) => void;
  /** Commits what is queued now. */
  readonly flush: () => void;
}

interface Parts {
  readonly db: Database;
  /** Runs inside each transaction after its writes, for what is cheaper to write once than per write. */
  readonly beforeCommit: () => void;
  /** Forgets what `beforeCommit` would have written, because the transaction was rolled back. */
  readonly onRollback: () => void;
  readonly onCommit: (writes: number) => void;
}

interface Queued {
  readonly write: () => unknown;
  readonly resolve: (result: never) => void;
  readonly reject: (error: unknown) => void;
}

/** Bounds how long one transaction keeps the event loop; the rest waits for the next turn. */
const batchMax = 256;

export function createGroupCommit(parts: Parts): GroupCommit {
  const begin = parts.db.query("BEGIN IMMEDIATE");
  const commit = parts.db.query("COMMIT");
  const rollback = parts.db.query("ROLLBACK");
  let queue: Queued[] = [];
  let riders: (() => void)[] = [];
  let scheduled = false;

  const schedule = (): void => {
    if (scheduled) return;
    scheduled = true;
    setImmediate(flush);
  };

  const flush = (): void => {
    scheduled = false;
    const batch = queue.splice(0, batchMax);
    const riding = riders;
    riders = [];
    if (batch.length === 0 && riding.length === 0) return;
    const results = commitTogether(batch, riding);
    if (results === undefined) commitOneByOne(batch, riding);
    if (queue.length > 0) schedule();
  };

  /** Undefined when something threw: the transaction is undone and nobody was told anything yet. */
  const commitTogether = (batch: readonly Queued[], riding: readonly (() => void)[]): true | undefined => {
    const results: unknown[] = [];
    try {
      begin.run();
      for (const write of riding) write();
      for (const queued of batch) results.push(queued.write());
      parts.beforeCommit();
      commit.run();
    } catch (error) {
      undo();
      // Alone in its transaction, the write that threw is the one to blame.
      if (batch.length + riding.length > 1) return undefined;
      batch[0]?.reject(error);
      return true;
    }
    parts.onCommit(batch.length);
    // Each result goes back to the promise that queued the write that returned it.
    batch.forEach((queued, index) => queued.resolve(results[index] as never));
    return true;
  };

  const commitOneByOne = (batch: readonly Queued[], riding: readonly (() => void)[]): void => {
    for (const write of riding) commitTogether([], [write]);
    for (const queued of batch) commitTogether([queued], []);
  };

  const undo = (): void => {
    parts.onRollback();
    try {
      rollback.run();
    } catch {
      // SQLite has already rolled back by itself, as it does when the disk is full.
    }
  };

  return {
    run: (write) =>
      new Promise((resolve, reject) => {
        queue.push({ write, resolve, reject });
        schedule();
      }),
    ride: (write) => {
      riders.push(write);
      schedule();
    },
    flush,
  };
}
