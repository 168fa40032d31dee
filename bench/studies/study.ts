import type { Chapter } from "../report/chapter.ts";
import type { Contestant } from "../rig/contestant.ts";
import type { LeaveOut } from "../rig/in-turns.ts";
import type { WarmUp } from "../rig/warm-up.ts";

export type StudyName =
  | "chat"
  | "latency"
  | "streams"
  | "open-streams"
  | "refusals"
  | "rerank"
  | "reseller"
  | "history"
  | "soak"
  | "commits"
  | "tasks"
  | "nodes";

/** One thing to find out. To add a study, write one file and list it in `bench.ts`; its bars stand in `bars.ts`. */
export interface Study {
  readonly name: StudyName;
  /** Whom continuous integration has the time for; absent when it has none for the study. */
  readonly inShort?: readonly Contestant[];
  /** About how long it takes, for the impatient. */
  readonly expectedSeconds: (settings: Settings) => number;
  readonly run: (settings: Settings) => Promise<Chapter>;
}

export interface Settings {
  readonly short: boolean;
  /** Those who take part in the study. */
  readonly contestants: readonly Contestant[];
  readonly rounds: number;
  readonly roundSeconds: number;
  readonly warmUp: WarmUp;
  /** How many callers ask at the same time, where a study does not say otherwise by its nature. */
  readonly connections: readonly number[];
  /** How many settled calls the two histories hold that are compared. */
  readonly history: { readonly few: number; readonly many: number };
  /** How many calls each contestant of the soak serves. */
  readonly soakCalls: number;
  /** How many tasks are open at one vendor. */
  readonly openTasks: number;
  readonly leaveOut: LeaveOut;
}

/** Everybody takes part who does not sit out; in the short form, whom there is time for. */
export const takingPart = (
  { name, inShort }: Study,
  { short, contestants }: Pick<Settings, "short" | "contestants">,
): Contestant[] =>
  contestants.filter(
    (contestant) =>
      contestant.sitsOut?.includes(name) !== true &&
      (!short || inShort === undefined || inShort.includes(contestant)),
  );

/** For figures that no bar is about: a median and a spread need no more. */
export const fewerRounds = ({ rounds, roundSeconds }: Settings) => ({
  rounds: Math.min(rounds, 3),
  roundSeconds: Math.min(roundSeconds, 2),
});

/** A second of load comes with the start of its generator and the reading of what was used. */
const secondsAround = 0.15;

/** How long so many rounds of all these take, after their warm-up at length or in brief. */
export function expectedRounds(
  contestants: number,
  { rounds, roundSeconds }: Pick<Settings, "rounds" | "roundSeconds">,
  warmUpSeconds: number,
): number {
  return contestants * (rounds * (roundSeconds + secondsAround) + warmUpSeconds * (1 + secondsAround));
}

/** What the long warm-up usually takes, on the average of those who compile and those who do not. */
export const usualWarmUp = ({ warmUp }: Pick<Settings, "warmUp">): number =>
  (warmUp.secondsMin + warmUp.secondsMax) / 3;
