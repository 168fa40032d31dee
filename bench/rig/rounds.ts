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

/** A limit that is refused lets one through now and then; whoever answers otherwise more often does not do the work. */
const asWantedShareMin = 0.98;

async function runRound(
  { url, keys, pid, headers = {}, status = 200 }: RunningContestant,
  { request, connections, thinkMs }: Plan,
  seconds: number,
): Promise<Round> {
  const before = pid === undefined ? undefined : readCpu(pid);
  const told = { ...request, headers: { ...request.headers, ...headers } };
  const pause = thinkMs === undefined ? {} : { thinkMs };
  const result = await load({ url, keys, request: told, connections, seconds, ...pause });
  const used = pid === undefined || !before ? undefined : cpuSecondsBetween(before, readCpu(pid));
  const answers = result.statuses.values().reduce((sum, count) => sum + count, 0);
  const asWanted = result.statuses.get(status) ?? 0;
  // A fast refusal is no result.
  if (answers === 0 || result.broken > 0 || asWanted < answers * asWantedShareMin) {
    const seen = [...result.statuses].map(([code, count]) => `${count} × ${code}`).join(", ");
    throw new Error(
      `${result.broken} broken requests of ${result.requests} at ${connections} connections; answers: ${seen}`,
    );
  }
  return {
    cpuMicrosPerRequest: used === undefined ? undefined : (used / result.requests) * 1e6,
    requestsPerSecond: result.requestsPerSecond,
    p50Ms: result.p50Ms,
    p99Ms: result.p99Ms,
  };
}
