import type { Results, Round } from "../rig/rounds.ts";
import { median, ratiosOf, spread } from "../rig/statistics.ts";
import { readable, type Mark, type Plot, type Table } from "./chapter.ts";

/** The table of a load: what each contestant's CPU, throughput and latency were, and its CPU beside the others'. */
export function roundTable(options: {
  readonly title: string;
  readonly note: string;
  readonly results: Results;
  /** Whose CPU the others are compared with, and how that column is called. */
  readonly beside: Readonly<Record<string, string>>;
  /** Whether a plot shows it, and where ours has to stay below how many times somebody else's. */
  readonly drawn?: boolean;
  readonly limit?: Limit;
}): Table {
  const { title, note, results } = options;
  const beside = Object.entries(options.beside).filter(([other]) => results.has(other));
  const table: Table = {
    title,
    note,
    columns: ["", "CPU µs/request", ...beside.map(([, column]) => column), "requests/s", "p50 ms", "p99 ms"],
    rows: [...results].map(([name, rounds]) => [
      name,
      withSpread(cpuOf(rounds)),
      ...beside.map(([other]) => readable(median(cpuRatios(results, name, other)))),
      withSpread(rounds.map(({ requestsPerSecond }) => requestsPerSecond)),
      withSpread(rounds.map(({ p50Ms }) => p50Ms)),
      withSpread(rounds.map(({ p99Ms }) => p99Ms)),
    ]),
  };
  return options.drawn === true
    ? { ...table, plot: plotOfMarks("CPU µs/request", cpuMarks(results), options.limit) }
    : table;
}

export interface Limit {
  readonly times: number;
  readonly of: string;
}

/** The limit is drawn where it lies in this run; not at all when the other one was not measured. */
export function plotOfMarks(unit: string, marks: readonly Mark[], limit?: Limit): Plot {
  const other = marks.find(({ name }) => name === limit?.of);
  if (!limit || !other) return { unit, marks };
  return { unit, marks, limit: { value: limit.times * other.median, label: `${limit.times} × ${limit.of}` } };
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
  return values.length === 1
    ? readable(median(values))
    : `${readable(median(values))} (${readable(least)}–${readable(most)})`;
}

/** Round by round; empty when one of them was not measured. */
export const cpuRatios = (results: Results, of: string, to: string): number[] =>
  ratiosOf(cpuOf(results.get(of) ?? []), cpuOf(results.get(to) ?? []));
