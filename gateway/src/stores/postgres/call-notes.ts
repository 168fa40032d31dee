import type { Quantities } from "../../prices/quantities.ts";
import { TransitMap } from "../../platform/transit-map.ts";

/** What is noted of calls under way: when they were sent, and how far they are. Nobody waits for it to be written. */
export interface CallNotes {
  readonly sent: (callId: string, atMs: number) => void;
  readonly progress: (callId: string, used: Quantities) => void;
  readonly sentAtMs: (callId: string) => number | undefined;
  /** The call has ended, and its end said when it was sent. */
  readonly drop: (callId: string) => void;
  /** Whether any are to be written now. */
  readonly areDue: () => boolean;
  readonly due: () => WrittenNotes;
  /** These have been written. */
  readonly forget: (written: WrittenNotes) => void;
  /** All are due now, and nobody will be told so. */
  readonly hurry: () => void;
}

interface WrittenNotes {
  readonly sent: ReadonlyMap<string, number>;
  readonly progress: ReadonlyMap<string, Quantities>;
}

const dueAfterMs = 100;

export function createCallNotes(onDue: () => void): CallNotes {
  const sent = new TransitMap<number>();
  const progress = new Map<string, Quantities>();
  /** Whether sent marks are old enough to be written: the end of most calls comes sooner, and says when they were sent. */
  let marking = false;
  let timer: NodeJS.Timeout | undefined;

  const areDue = (): boolean => marking || progress.size > 0;

  const tellSoon = (): void => {
    timer ??= setTimeout(() => {
      timer = undefined;
      marking = sent.size > 0;
      if (areDue()) onDue();
    }, dueAfterMs).unref();
  };

  return {
    sent: (callId, atMs) => {
      sent.set(callId, atMs);
      tellSoon();
    },
    progress: (callId, used) => {
      progress.set(callId, used);
      tellSoon();
    },
    sentAtMs: (callId) => sent.get(callId),
    drop: (callId) => sent.delete(callId),
    areDue,
    due: () => ({ sent: new Map(marking ? sent.entries() : []), progress: new Map(progress) }),
    forget: (written) => {
      for (const callId of written.sent.keys()) sent.delete(callId);
      // What was noted meanwhile is newer, and stays.
      for (const [callId, used] of written.progress)
        if (progress.get(callId) === used) progress.delete(callId);
      marking = false;
    },
    hurry: () => {
      clearTimeout(timer);
      marking = sent.size > 0;
    },
  };
}
