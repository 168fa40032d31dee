import type { Results, Round } from "../rig/rounds.ts";
import { median, ratiosOf, spread } from "../rig/statistics.ts";
import { readable, type Mark, type Plot, type Table } from "./chapter.ts";

/** The table of a load: what each contestant's CPU, throughput and latency were, and beside the others'. */
export function roundTable(options: {
  readonly title: string;
  readonly note: string;
  /** What was measured, by what differed between the groups. */
  readonly groups: { readonly column?: string; readonly results: ReadonlyMap<number, Results> };
  /** Whom the others are compared with, and how that column is called; throughput only with the first. */
  readonly beside: Readonly<Record<string, string>>;
  /** Which group a plot shows, and where ours has to stay below how many times somebody else's. */
  readonly drawn: number;
  /** Whom the limit is not about. */
  readonly notDrawn?: string;
  readonly limit?: Limit;
}): Table {
  const { title, note, groups, limit } = options;
  const all = [...groups.results];
  const isThere = (name: string): boolean => all.some(([, results]) => results.has(name));
  const beside = Object.entries(options.beside).filter(([other]) => isThere(other));
  const first = beside.slice(0, 1);
  const group = groups.column === undefined ? [] : [groups.column];
  const shown = groups.results.get(options.drawn);
  return {
    title,
    note,
    columns: [
      "",
      ...group,
      "CPU µs/request",
      ...beside.map(([, column]) => column),
      "requests/s",
      ...first.map(([, column]) => column),
      "p50 ms",
      "p99 ms",
    ],
    rows: all.flatMap(([size, results]) =>
      [...results].map(([name, rounds]) => [
        name,
        ...group.map(() => String(size)),
        withSpread(cpuOf(rounds)),
        ...beside.map(([other]) => readable(median(cpuRatios(results, name, other)))),
        withSpread(ratesOf(rounds)),
        ...first.map(([other]) =>
          readable(median(ratiosOf(ratesOf(rounds), ratesOf(results.get(other) ?? [])))),
        ),
        withSpread(rounds.map(({ p50Ms }) => p50Ms)),
        withSpread(rounds.map(({ p99Ms }) => p99Ms)),
      ]),
    ),
    ...(shown
      ? {
          plot: plotOfMarks(
            ["CPU µs/request", ...group.map((word) => `${options.drawn} ${word}`)].join(", "),
            cpuMarks(shown).filter(({ name }) => name !== options.notDrawn),
            limit,
          ),
        }
      : {}),
  };
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

export const cpuOf = (rounds: readonly Round[]): number[] =>
  rounds.flatMap(({ cpuMicrosPerRequest }) => cpuMicrosPerRequest ?? []);

export const ratesOf = (rounds: readonly Round[]): number[] =>
  rounds.map(({ requestsPerSecond }) => requestsPerSecond);

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
