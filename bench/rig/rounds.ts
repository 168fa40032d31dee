import type { RunningContestant } from "./contestant.ts";
import { cpuSecondsBetween, readCpu } from "./cpu.ts";
import { inTurns, type LeaveOut, type Runners } from "./in-turns.ts";
import { warmUp, type WarmUp } from "./warm-up.ts";
import { load, type LoadRequest } from "./wrk.ts";

/** What one contestant did in one round. */
export interface Round {
  /** Undefined when nobody stands between. */
  readonly cpuMicrosPerRequest: number | undefined;
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export type Results = ReadonlyMap<string, readonly Round[]>;

export interface Plan {
  readonly request: LoadRequest;
  readonly connections: number;
  readonly rounds: number;
  readonly roundSeconds: number;
  readonly warmUp: WarmUp;
  readonly thinkMs?: number;
  readonly leaveOut: LeaveOut;
}

/** Warms everybody up, then measures. A contestant that answers something else than was asked for leaves the run. */
export async function runRounds(contestants: Runners, plan: Plan): Promise<Results> {
  const warm = await warmUpUnder(contestants, plan);
  return inTurns(warm, plan, (contestant) => runRound(contestant, plan, plan.roundSeconds));
}

/** Returns those who did the work. */
export const warmUpUnder = (contestants: Runners, plan: Plan): Promise<Runners> =>
  warmUp(contestants, { ...plan, bounds: plan.warmUp }, async (contestant) => {
    const { cpuMicrosPerRequest, requestsPerSecond } = await runRound(contestant, plan, 1);
    return cpuMicrosPerRequest ?? 1 / requestsPerSecond;
  });

async function runRound(
  contestant: RunningContestant,
  { request, connections, thinkMs }: Plan,
  seconds: number,
): Promise<Round> {
  const { pid } = contestant;
  const before = pid === undefined ? undefined : readCpu(pid);
  const pause = thinkMs === undefined ? {} : { thinkMs };
  const { requests, ...result } = await load({ ...contestant, request, connections, seconds, ...pause });
  const used = pid === undefined || !before ? undefined : cpuSecondsBetween(before, readCpu(pid));
  return { ...result, cpuMicrosPerRequest: used === undefined ? undefined : (used / requests) * 1e6 };
}
