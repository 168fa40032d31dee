import { StoreBusy } from "../../../ledger/store-errors.ts";
import { patienceOfCallersMs } from "../../patience.ts";
import { createBatchCommit, isEmpty, type Batch, type Rider, type TransactionParts } from "./commit-batch.ts";
import { DiskPace } from "./disk-pace.ts";
import { isBroken, isBusy, isFull } from "./failures.ts";
import { PromisedWrite, type QueuedWrite } from "./queued-write.ts";

/** Runs writes together: whatever the event loop brings, turn after turn, shares one transaction and one fsync. */
export interface GroupCommit {
  /**
   * Resolves with what `write` returned, once it is on disk. A write that throws fails alone; one that does
   * not get its turn within `patienceMs`, because another process is writing, fails with StoreBusy.
   */
  readonly run: <Result>(write: () => Result, patienceMs?: number) => Promise<Result>;
  /** As `run`, for what every call waits for: the same function for all of them, and what it is called with. */
  readonly runWith: <Argument, Result>(
    argument: Argument,
    write: (argument: Argument) => Result,
    patienceMs?: number,
  ) => Promise<Result>;
  /** Joins the next transaction without anybody waiting for it; begins one of its own only when none comes for a while. */
  readonly ride: (write: Rider) => void;
  /** Fails with StoreBusy as long as another process keeps the file from writes of which one has waited in vain. */
  readonly checkTurns: () => Promise<void>;
}

interface Parts extends TransactionParts {
  readonly monotonicMs: () => number;
  /** Brings what was committed to the disk while others are served. */
  readonly syncLog: () => Promise<void>;
  /** How long a write waits for its turn if it does not say so itself. */
  readonly patienceUsualMs?: number | undefined;
  /** The disk is full. True when room was made, so that trying once more makes sense. */
  readonly onFull: () => boolean;
  /** The disk cannot be trusted any more: after a failed fsync nobody knows what is on it. */
  readonly onBrokenDisk: (error: unknown) => void;
}

/**
 * What is under way between two turns of the event loop: writes are gathered for the next transaction, a commit is
 * brought to the disk by another thread, or another process has the file. A commit within a turn needs no state.
 */
type State = "idle" | "gathering" | "syncing" | "waiting for another process";

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
  /** A write had to be refused for want of a turn, and there was none since. */
  let isKeptOut = false;
  const noteTurn = (): void => {
    isKeptOut = false;
    parts.afterBegin();
  };
  const pace = new DiskPace(parts.monotonicMs);
  const { commit, commitUnsynced, commitOneByOne } = createBatchCommit(
    { ...parts, afterBegin: noteTurn },
    pace,
  );
  let queue: QueuedWrite[] = [];
  let riders: Rider[] = [];
  let state: State = "idle";
  /** How many turns the queue has been waited for, and how long it was at the last of them. */
  let turns = 0;
  let queuedBefore = 0;
  let riderTimer: NodeJS.Timeout | undefined;
  const runWith: GroupCommit["runWith"] = (argument, write, patienceMs = patienceUsualMs) => {
    const queued = new PromisedWrite(argument, write, patienceMs);
    queue.push(queued);
    gatherSoon();
    return queued.answer;
  };

  const ride = (write: Rider): void => {
    riders.push(write);
    riderTimer ??= setTimeout(rideAlone, ridesWithinMs);
  };

  const rideAlone = (): void => {
    riderTimer = undefined;
    if (riders.length > 0) gatherSoon();
  };

  const gatherSoon = (): void => {
    if (state !== "idle") return;
    state = "gathering";
    turns = 0;
    setImmediate(gather);
  };

  const gather = (): void => {
    const isQuiet = turns > 0 && queue.length === queuedBefore;
    if (isQuiet || turns === turnsMax || queue.length >= batchMax) {
      commitNext();
      return;
    }
    turns++;
    queuedBefore = queue.length;
    setImmediate(gather);
  };

  const commitNext = (): void => {
    state = "idle";
    const batch: Batch = { writes: queue.splice(0, batchMax), riders };
    riders = [];
    if (isEmpty(batch)) return;
    if (pace.isSlow()) return commitBeside(batch);
    const failure = commit(batch);
    if (failure === undefined) tell(batch);
    else recover(failure.error, batch);
    if (queue.length > 0) gatherSoon();
  };

  /**
   * Where the disk is slow, everybody else is served while it works. The next transaction waits for it, and so does
   * whoever has to be told.
   */
  const commitBeside = (batch: Batch): void => {
    state = "syncing";
    const failure = commitUnsynced(batch);
    if (failure !== undefined) {
      state = "idle";
      recover(failure.error, batch);
      goOn();
      return;
    }
    parts.syncLog().then(
      () => {
        state = "idle";
        tell(batch);
        goOn();
      },
      // The state stays as it is: nothing more is committed.
      (error: unknown) => giveUp(error, batch),
    );
  };

  const goOn = (): void => {
    if (queue.length + riders.length > 0) gatherSoon();
  };

  const tell = ({ writes }: Batch): void => {
    for (const write of writes) write.tell();
  };

  const recover = (error: unknown, batch: Batch): void => {
    if (isBusy(error)) return waitForTurn(batch);
    if (isBroken(error)) return giveUp(error, batch);
    const again = isFull(error) && parts.onFull() ? commit(batch) : { error };
    if (again === undefined) return tell(batch);
    if (isBroken(again.error)) return giveUp(again.error, batch);
    const { left, broken } = commitOneByOne(batch);
    if (broken) return giveUp(broken.error, left);
    if (!isEmpty(left)) waitForTurn(left);
  };

  /** Nothing more is written by whoever may not know what is on the disk. */
  const giveUp = (error: unknown, { writes }: Batch): void => {
    for (const write of writes) write.fail(error);
    parts.onBrokenDisk(error);
  };

  /** Another process is writing. Whoever is late is told, however many stand before them; the others keep their place. */
  const waitForTurn = (batch: Batch): void => {
    const nowMs = parts.monotonicMs();
    queue = [...batch.writes, ...queue].filter((write) => {
      if (!write.isLate(nowMs)) return true;
      isKeptOut = true;
      write.fail(new StoreBusy());
      return false;
    });
    riders = [...batch.riders, ...riders];
    state = "waiting for another process";
    setTimeout(commitNext, busyRetryMs);
  };

  const run: GroupCommit["run"] = (write, patienceMs) => runWith(undefined, write, patienceMs);

  // Where nobody writes any more, because everybody was told to stay away, only a try shows that there are turns again.
  const checkTurns = async (): Promise<void> => {
    if (isKeptOut) await run(() => {}, 0);
  };

  return { run, runWith, ride, checkTurns };
}
