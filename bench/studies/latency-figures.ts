// What the latency study makes of its rounds: what standing between adds, beside what somebody else adds, and whether
// anybody can be said to have been asked at the pace at all.

import { direct } from "../contestants/direct.ts";
import { tollgate } from "../contestants/tollgate.ts";
import type { Finding } from "../report/chapter.ts";
import { ratesOf } from "../report/round-table.ts";
import type { Results } from "../rig/rounds.ts";
import { median, ratiosOf } from "../rig/statistics.ts";

/** Rounds at one pace. */
export interface Paced {
  readonly results: Results;
  readonly askedPerSecond: number;
  /** Whom everybody is compared with. */
  readonly standard: string;
  /** What part of the pace counts as having kept it. */
  readonly keptShareMin: number;
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
 * Each round beside the median of what the standard adds, not beside its same round: in a single one it may add next to
 * nothing, and a ratio to that says nothing. Empty when even its median is no more than the upstream alone takes.
 */
export function besideStandard({ results, standard }: Paced, name: string, column: Column): number[] {
  const usual = median(added(results, standard, column));
  return usual > 0 ? added(results, name, column).map((value) => value / usual) : [];
}

/** What part of the pace somebody reached. */
export const reachedShare = ({ results, askedPerSecond }: Paced, name: string): number =>
  median(ratesOf(results.get(name) ?? [])) / askedPerSecond;

/**
 * Callers who wait do not ask, so a slow answer lowers the pace a little for everybody, and whoever is at the end of its
 * strength much more: then the pace is what it can serve, and its latency is the queue's. Direct is held against the
 * pace itself, the standard against direct, everybody else against the standard.
 */
export function keepsPace({ results, askedPerSecond, standard, keptShareMin }: Paced, name: string): boolean {
  const own = ratesOf(results.get(name) ?? []);
  const before = name === standard ? direct.name : standard;
  const rates = name === direct.name ? own.map(() => askedPerSecond) : ratesOf(results.get(before) ?? []);
  return median(ratiosOf(own, rates)) >= keptShareMin;
}

/** A pace that ours did not keep is a miss, however quick its answers were at another one. */
export function findingOf(paced: Paced, column: Column): Finding {
  const ratios = besideStandard(paced, tollgate.name, column);
  const reached = (name: string): string => `reached only ${percent(reachedShare(paced, name))} of the pace`;
  for (const name of [direct.name, paced.standard])
    if (!keepsPace(paced, name)) return { ratios, notShown: `${name} ${reached(name)}` };
  return keepsPace(paced, tollgate.name) ? { ratios } : { ratios, missedFor: reached(tollgate.name) };
}

export const percent = (share: number): string => `${Math.round(share * 100)} %`;
