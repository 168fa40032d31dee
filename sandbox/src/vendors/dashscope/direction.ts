// What a test or a curious person can ask of a task, in brackets anywhere in its prompt:
//
//   [queued 50] [running 50]   how long it is PENDING, then RUNNING, in milliseconds
//   [fails]                    it ends FAILED
//   [stuck]                    it never leaves RUNNING
//   [canceled] [canceled 2]    the vendor cancels it at its end, and bills nothing or two seconds
//   [kept 500]                 the vendor forgets it after so many milliseconds instead of a day
//   [refused]                  it is not even created
//
// What the vendor says wrongly, slowly or not at all is the business of faults (../../faults.ts).

export interface Direction {
  readonly queuedMs: number;
  readonly runningMs: number;
  readonly ending: "succeeds" | "fails" | "canceled" | "never";
  /** How many seconds the vendor bills of a task that it cancels. */
  readonly canceledSeconds: number;
  readonly keptMs: number;
  readonly refused: boolean;
}

// Long enough to see each state, short enough to wait for.
const usual: Direction = {
  queuedMs: 1_000,
  runningMs: 3_000,
  ending: "succeeds",
  canceledSeconds: 0,
  keptMs: 24 * 60 * 60 * 1000,
  refused: false,
};

export function directionIn(prompt: string): Direction {
  let direction = usual;
  for (const [, word = "", figure] of prompt.matchAll(/\[([a-z]+)(?: (\d{1,9}))?\]/g)) {
    direction = { ...direction, ...understood(word, figure === undefined ? undefined : Number(figure)) };
  }
  return direction;
}

/** Brackets that mean nothing here are part of the prompt like any other word. */
function understood(word: string, figure: number | undefined): Partial<Direction> {
  if (word === "canceled") return { ending: "canceled", canceledSeconds: figure ?? 0 };
  if (figure === undefined) return plain[word] ?? {};
  if (word === "queued") return { queuedMs: figure };
  if (word === "running") return { runningMs: figure };
  return word === "kept" ? { keptMs: figure } : {};
}

const plain: Readonly<Record<string, Partial<Direction>>> = {
  fails: { ending: "fails" },
  stuck: { ending: "never" },
  refused: { refused: true },
};
