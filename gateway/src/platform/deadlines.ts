/** Deadlines of many things at once, on one timer: a timer for each costs more than much of what it would watch. */
interface Deadlines {
  /** `onMissed` runs once, up to a moment late and never early, unless the deadline is moved or ended before. */
  readonly set: (afterMs: number, onMissed: () => void) => Deadline;
  readonly move: (deadline: Deadline, afterMs: number) => void;
  readonly end: (deadline: Deadline) => void;
}

interface Deadline {
  readonly onMissed: () => void;
  atMs: number;
}

/** How late a missed deadline is noticed at most; small beside any time that somebody is given. */
const lookEveryMs = 20;

export function createDeadlines(monotonicMs: () => number): Deadlines {
  const kept = new Set<Deadline>();
  let timer: NodeJS.Timeout | undefined;

  const look = (): void => {
    const nowMs = monotonicMs();
    for (const deadline of kept) {
      if (deadline.atMs > nowMs) continue;
      kept.delete(deadline);
      deadline.onMissed();
    }
    if (kept.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };

  const keep = (deadline: Deadline): void => {
    kept.add(deadline);
    timer ??= setInterval(look, lookEveryMs).unref();
  };

  return {
    set: (afterMs, onMissed) => {
      const deadline = { onMissed, atMs: monotonicMs() + afterMs };
      keep(deadline);
      return deadline;
    },
    move: (deadline, afterMs) => {
      deadline.atMs = monotonicMs() + afterMs;
      keep(deadline);
    },
    end: (deadline) => void kept.delete(deadline),
  };
}
