import type { StudyName } from "../studies/study.ts";
import type { Upstream } from "./upstream.ts";

/** One way from the load generator to the upstream. To add a contestant, write one file and list it in `bench.ts`. */
export interface Contestant {
  readonly name: string;
  /** The studies it has nothing to show in, with the reason beside them; it takes part in all others. */
  readonly sitsOut?: readonly StudyName[];
  readonly open: (upstream: Upstream) => Promise<RunningContestant>;
}

export interface RunningContestant {
  readonly url: string;
  /** Whose CPU time is counted, with its children; undefined when nobody stands between. */
  readonly pid: number | undefined;
  /** What callers show at its door. Each request takes the next one; contestants without keys ignore it. */
  readonly keys: readonly string[];
  /** What it wants to be told with every request besides the key. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether each of its requests carries an idempotency key of its own. */
  readonly idempotent?: boolean;
  /** The only status that counts as having done the work; 200 when not given. */
  readonly status?: number;
  /** What its answers must say at the least; what the upstream said when not given. */
  readonly told?: unknown;
  /** How many of its answers may have another one; none when not given. */
  readonly otherwiseShareMax?: number;
  /** Whether it compiles what is hot while it runs, so that its first seconds say little. */
  readonly compiles?: boolean;
  readonly close: () => Promise<void>;
}

/** For contestants that do not look at the key, so that every request carries as many bytes as anybody's. */
export const anyKeys: readonly string[] = ["tgk_0000000000000000000000000000000000"];
