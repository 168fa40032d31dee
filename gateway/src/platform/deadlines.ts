/**
 * Deadlines of many things at once, on one timer: a timer for each costs more than much of what it would watch. Nor is a
 * clock asked when one is set or moved, which happens at every piece of a stream: its time begins with the next look.
 */
export interface Deadlines {
  /** `onMissed` runs once, up to two looks late and never early, unless the deadline is moved or ended before. */
  readonly set: (waitMs: number, onMissed: () => void) => Deadline;
  /** Also sets one again that was missed or had ended. */
  readonly move: (deadline: Deadline, waitMs: number) => void;
  readonly end: (deadline: Deadline) => void;
}

export interface Deadline {
  readonly onMissed: () => void;
  waitMs: number;
  atMs: number;
  isKept: boolean;
}

/** Small beside any time that somebody is given for an answer. */
const lookUsuallyEveryMs = 20;
/** Its time begins with the next look. */
const notYet = -1;

export function createDeadlines(monotonicMs: () => number, lookEveryMs = lookUsuallyEveryMs): Deadlines {
  const kept = new Set<Deadline>();
  let timer: NodeJS.Timeout | undefined;

  const look = (): void => {
    const nowMs = monotonicMs();
    for (const deadline of kept) {
      if (deadline.atMs === notYet) deadline.atMs = nowMs + deadline.waitMs;
      if (deadline.atMs > nowMs) continue;
      end(deadline);
      deadline.onMissed();
    }
    if (kept.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };

  const keep = (deadline: Deadline): void => {
    deadline.isKept = true;
    kept.add(deadline);
    timer ??= setInterval(look, lookEveryMs).unref();
  };

  const end = (deadline: Deadline): void => {
    if (!deadline.isKept) return;
    deadline.isKept = false;
    kept.delete(deadline);
  };

  return {
    set: (waitMs, onMissed) => {
      const deadline = { onMissed, waitMs, atMs: notYet, isKept: false };
      keep(deadline);
      return deadline;
    },
    move: (deadline, waitMs) => {
      deadline.waitMs = waitMs;
      deadline.atMs = notYet;
      if (!deadline.isKept) keep(deadline);
    },
    end,
  };
}
