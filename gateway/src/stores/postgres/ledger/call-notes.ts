import type { Quantities } from "../../../prices/quantities.ts";
import { TransitMap } from "../../../platform/transit-map.ts";

/** What is noted of calls under way: when they were sent, and how far they are. Nobody waits for it to be written. */
export interface CallNotes {
  readonly dispatched: (callId: string, atMs: number) => void;
  readonly progress: (callId: string, used: Quantities) => void;
  readonly dispatchedAtMs: (callId: string) => number | undefined;
  /** The call has ended, and its end said when it was sent and what it used. */
  readonly drop: (callId: string) => void;
  /** Whether any are to be written now, even if nothing else is. */
  readonly areDue: () => boolean;
  /** The notes to write with the transaction that begins now. */
  readonly due: () => WrittenNotes;
  /** These have been written. */
  readonly forget: (written: WrittenNotes) => void;
  /** Makes all notes due now, without telling anybody. */
  readonly hurry: () => void;
}

interface WrittenNotes {
  /** The value of `timesCome` when they were taken. */
  readonly times: number;
  readonly dispatched: ReadonlyMap<string, number>;
  readonly progress: ReadonlyMap<string, Quantities>;
}

const dueAfterMs = 100;

export function createCallNotes(onDue: () => void): CallNotes {
  const dispatched = new TransitMap<number>();
  const progress = new Map<string, Quantities>();
  /** How often notes have become due, and up to which of these times all of them are written. */
  let timesCome = 0;
  let timesWritten = 0;
  let timer: NodeJS.Timeout | undefined;

  const isTime = (): boolean => timesCome > timesWritten;
  const isEmpty = (): boolean => dispatched.size + progress.size === 0;

  const tellSoon = (): void => {
    timer ??= setTimeout(() => {
      timer = undefined;
      if (isEmpty()) return;
      timesCome++;
      onDue();
    }, dueAfterMs).unref();
  };

  return {
    dispatched: (callId, atMs) => {
      dispatched.set(callId, atMs);
      tellSoon();
    },
    progress: (callId, used) => {
      progress.set(callId, used);
      tellSoon();
    },
    dispatchedAtMs: (callId) => dispatched.get(callId),
    drop: (callId) => {
      dispatched.delete(callId);
      progress.delete(callId);
      // The next note becomes due on its own.
      if (isEmpty()) timesWritten = timesCome;
    },
    areDue: () => isTime() && !isEmpty(),
    due: () => ({
      times: timesCome,
      // Most calls end before they are due, and their ends say when they were sent.
      dispatched: new Map(isTime() ? dispatched.entries() : []),
      progress: new Map(progress),
    }),
    forget: (written) => {
      for (const callId of written.dispatched.keys()) dispatched.delete(callId);
      // What was noted meanwhile is newer, and stays.
      for (const [callId, used] of written.progress)
        if (progress.get(callId) === used) progress.delete(callId);
      // Notes that became due meanwhile are still to be written.
      timesWritten = written.times;
    },
    hurry: () => {
      clearTimeout(timer);
      timesCome++;
    },
  };
}
