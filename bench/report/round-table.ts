import type { Round } from "../rig/rounds.ts";
import { median, medianRatio, spread } from "../rig/statistics.ts";
import { readable, type Mark, type Table } from "./chapter.ts";

type Results = ReadonlyMap<string, readonly Round[]>;

/** The table of a load: what each contestant's CPU, throughput and latency were, and its CPU beside the others'. */
export function roundTable(options: {
  readonly title: string;
  readonly note: string;
  readonly results: Results;
  /** Whose CPU the others are compared with, and how that column is called. */
  readonly beside: Readonly<Record<string, string>>;
  readonly drawn?: boolean;
}): Table {
  const { title, note, results, beside } = options;
  const table: Table = {
    title,
    note,
    columns: ["", "CPU µs/request", ...Object.values(beside), "requests/s", "p50 ms", "p99 ms"],
    rows: [...results].map(([name, rounds]) => [
      name,
      withSpread(cpuOf(rounds)),
      ...Object.keys(beside).map((other) => readable(cpuRatio(results, name, other) ?? Number.NaN)),
      readable(median(rounds.map(({ requestsPerSecond }) => requestsPerSecond))),
      readable(median(rounds.map(({ p50Ms }) => p50Ms))),
      readable(median(rounds.map(({ p99Ms }) => p99Ms))),
    ]),
  };
  return options.drawn === true
    ? { ...table, plot: { unit: "CPU µs/request", marks: cpuMarks(results) } }
    : table;
}

const cpuOf = (rounds: readonly Round[]): number[] =>
  rounds.flatMap(({ cpuMicrosPerRequest }) => cpuMicrosPerRequest ?? []);

const cpuMarks = (results: Results): Mark[] =>
  marksOf([...results].map(([name, rounds]) => [name, cpuOf(rounds)]));

export const marksOf = (figures: readonly (readonly [string, readonly number[]])[]): Mark[] =>
  figures
    .filter(([, values]) => values.length > 0)
    .map(([name, values]) => ({ name, median: median(values), ...spread(values) }));

export function withSpread(values: readonly number[]): string {
  if (values.length === 0) return "–";
  const { least, most } = spread(values);
  return `${readable(median(values))} (${readable(least)}–${readable(most)})`;
}

/** Undefined when one of them was not measured. */
export function cpuRatio(results: Results, of: string, to: string): number | undefined {
  return ratioOf(cpuOf(results.get(of) ?? []), cpuOf(results.get(to) ?? []));
}

export function ratioOf(of: readonly number[], to: readonly number[]): number | undefined {
  const ratio = medianRatio(of, to);
  return Number.isNaN(ratio) ? undefined : ratio;
}
