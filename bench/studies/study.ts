import type { Chapter } from "../report/chapter.ts";
import type { Contestant } from "../rig/contestant.ts";

/** One thing to find out. To add a study, write one file and list it in `bench.ts`. */
export interface Study {
  readonly name: string;
  /** Whether continuous integration has the time for it. */
  readonly inShort: boolean;
  readonly run: (settings: Settings) => Promise<Chapter>;
}

export interface Settings {
  readonly short: boolean;
  readonly contestants: readonly Contestant[];
  readonly rounds: number;
  readonly roundSeconds: number;
  readonly warmUpSeconds: number;
  /** How many callers ask at the same time, where a study does not say otherwise by its nature. */
  readonly connections: readonly number[];
  /** How many settled calls the two histories hold that are compared. */
  readonly history: { readonly few: number; readonly many: number };
}
