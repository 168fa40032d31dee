import { TransitMap } from "../../../platform/transit-map.ts";

/** When calls were sent, for as long as it is not on disk. A transaction that is rolled back loses none of it. */
export interface DispatchMarks {
  readonly note: (callId: string, atMs: number) => void;
  readonly find: (callId: string) => number | undefined;
  /** All that are noted at this moment. */
  readonly all: () => readonly (readonly [callId: string, atMs: number])[];
  /** Inside a transaction: with its commit the mark is on disk, or nobody asks for it any more. */
  readonly drop: (callId: string) => void;
  readonly onCommit: () => void;
  readonly onRollback: () => void;
}

export function createDispatchMarks(): DispatchMarks {
  const marks = new TransitMap<number>();
  let dropped: string[] = [];
  return {
    note: (callId, atMs) => marks.set(callId, atMs),
    find: (callId) => marks.get(callId),
    all: () => [...marks.entries()],
    drop: (callId) => void dropped.push(callId),
    onCommit: () => {
      for (const callId of dropped) marks.delete(callId);
      dropped = [];
    },
    onRollback: () => {
      dropped = [];
    },
  };
}
