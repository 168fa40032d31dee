/**
 * Deadlines of many things at once, on two timers: a timer for each costs more than much of what it would watch. Nor is a
 * clock asked when one is set or moved, which happens at every piece of a stream: its time begins with the next look.
 */
export interface Deadlines {
  /** Who waits is told once, up to two looks late and never early, unless the deadline is moved or ended before. */
  readonly set: (waitMs: number, waiting: Waiting) => Deadline;
  /** Also sets one again that was missed or had ended. */
  readonly move: (deadline: Deadline, waitMs: number) => void;
  readonly end: (deadline: Deadline) => void;
  /** Tells everybody who waits now that the time is over. */
  readonly missAll: () => void;
}

/** Not a function, which would have to be made anew for each deadline: whoever sets one waits for it itself. */
export interface Waiting {
  readonly onMissed: () => void;
}

export interface Deadline {
  readonly waiting: Waiting;
  waitMs: number;
  atMs: number;
  /** Where it is looked at; undefined when it was missed or has ended. */
  round: Round | undefined;
  /** Its place there. */
  place: number;
}

/**
 * Those that are looked at together, in any order. A list, not a set: a set that many come to and leave is made anew again
 * and again, and what it held before lives on in the eyes of the collector, with all that hangs on it.
 */
interface Round {
  readonly lookEveryMs: number;
  readonly kept: Deadline[];
  timer: NodeJS.Timeout | undefined;
}

/** Small beside any time that somebody is given for an answer. */
const lookEveryMs = 20;
/** Thousands of streams wait for what is far away, and to look at all of them that often would cost as much as to serve them. */
const farMs = 2_000;
const lookFarEveryMs = 250;
/** Its time begins with the next look. */
const notYet = -1;

export function createDeadlines(monotonicMs: () => number): Deadlines {
  const near = createRound(lookEveryMs);
  const far = createRound(lookFarEveryMs);

  const keep = (deadline: Deadline, round: Round): void => {
    deadline.round = round;
    deadline.place = round.kept.length;
    round.kept.push(deadline);
    round.timer ??= setInterval(look, round.lookEveryMs, round).unref();
  };

  const look = (round: Round): void => {
    const nowMs = monotonicMs();
    // Whoever is told may set, move and end others, so all that were missed are found first.
    const missed: Deadline[] = [];
    for (const deadline of round.kept) {
      if (deadline.atMs === notYet) deadline.atMs = nowMs + deadline.waitMs;
      if (deadline.atMs <= nowMs) missed.push(deadline);
    }
    for (const deadline of missed) {
      // It may have been ended, or moved, by who was told before.
      if (deadline.round !== round || deadline.atMs === notYet) continue;
      end(deadline);
      deadline.waiting.onMissed();
    }
    if (round.kept.length > 0) return;
    clearInterval(round.timer);
    round.timer = undefined;
  };

  const end = (deadline: Deadline): void => {
    const { round, place } = deadline;
    if (!round) return;
    deadline.round = undefined;
    // The last one takes its place.
    const last = round.kept.pop();
    if (!last || last === deadline) return;
    round.kept[place] = last;
    last.place = place;
  };

  const missAll = (): void => {
    for (const deadline of [...near.kept, ...far.kept]) {
      // It may have been ended by who was told before.
      if (!deadline.round) continue;
      end(deadline);
      deadline.waiting.onMissed();
    }
  };

  const roundFor = (waitMs: number): Round => (waitMs < farMs ? near : far);

  return {
    set: (waitMs, waiting) => {
      const deadline = { waiting, waitMs, atMs: notYet, round: undefined, place: 0 };
      keep(deadline, roundFor(waitMs));
      return deadline;
    },
    move: (deadline, waitMs) => {
      deadline.waitMs = waitMs;
      deadline.atMs = notYet;
      const round = roundFor(waitMs);
      if (deadline.round === round) return;
      end(deadline);
      keep(deadline, round);
    },
    end,
    missAll,
  };
}

const createRound = (everyMs: number): Round => ({
  lookEveryMs: everyMs,
  kept: [],
  timer: undefined,
});
