// What the latency study makes of its rounds: what standing between adds, beside what the bare proxy adds, and whether
// anybody can be said to have been asked at the pace at all.

import { bareBun } from "../contestants/bare-bun.ts";
import { direct } from "../contestants/direct.ts";
import { tollgate } from "../contestants/tollgate.ts";
import type { Finding } from "../report/chapter.ts";
import type { Results } from "../rig/rounds.ts";
import { median, ratiosOf } from "../rig/statistics.ts";

/** Rounds at one pace. */
export interface Paced {
  readonly results: Results;
  readonly askedPerSecond: number;
}

export type Column = "p50Ms" | "p99Ms";

/** What standing between adds to what the upstream alone takes, round by round. */
export function added(results: Results, name: string, column: Column): number[] {
  const alone = results.get(direct.name) ?? [];
  return (results.get(name) ?? []).flatMap((round, at) => {
    const without = alone[at]?.[column];
    return without === undefined ? [] : [round[column] - without];
  });
}

/**
 * Each round beside the median of what the bare proxy adds, not beside its same round: in a single one it may add next
 * to nothing, and a ratio to that says nothing. Empty when even its median is no more than the upstream alone takes.
 */
export function besideBare(results: Results, name: string, column: Column): number[] {
  const bare = median(added(results, bareBun.name, column));
  return bare > 0 ? added(results, name, column).map((value) => value / bare) : [];
}

/** What part of the pace somebody reached. */
export const reachedShare = ({ results, askedPerSecond }: Paced, name: string): number =>
  median(ratesOf(results, name)) / askedPerSecond;

/**
 * Callers who wait do not ask, so a slow answer lowers the pace a little for everybody, and whoever is at the end of its
 * strength much more: then the pace is what it can serve, and its latency is the queue's. Direct is held against the
 * pace itself, the bare proxy against direct, everybody else against the bare proxy. A tenth is what twice the bare
 * proxy's latency, which the bars allow, takes away from the pace with room to spare.
 */
export function keepsPace({ results, askedPerSecond }: Paced, name: string): boolean {
  const own = ratesOf(results, name);
  const before = name === bareBun.name ? direct.name : bareBun.name;
  const rates = name === direct.name ? own.map(() => askedPerSecond) : ratesOf(results, before);
  return median(ratiosOf(own, rates)) >= paceKeptShareMin;
}
const paceKeptShareMin = 0.9;

/** A pace that ours did not keep is a miss, however quick its answers were at another one. */
export function findingOf(paced: Paced, column: Column): Finding {
  const ratios = besideBare(paced.results, tollgate.name, column);
  const percent = (name: string): string => `${Math.round(reachedShare(paced, name) * 100)} % of the pace`;
  for (const { name } of [direct, bareBun])
    if (!keepsPace(paced, name)) return { ratios, notShown: `${name} reached only ${percent(name)}` };
  return keepsPace(paced, tollgate.name)
    ? { ratios }
    : { ratios, missedFor: `reached only ${percent(tollgate.name)}` };
}

const ratesOf = (results: Results, name: string): number[] =>
  (results.get(name) ?? []).map(({ requestsPerSecond }) => requestsPerSecond);
