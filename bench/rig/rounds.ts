import type { RunningContestant } from "./contestant.ts";
import { cpuSeconds } from "./cpu.ts";
import { load, type LoadRequest } from "./wrk.ts";

/** What one contestant did in one round. */
export interface Round {
  /** Undefined when nobody stands between. */
  readonly cpuMicrosPerRequest: number | undefined;
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface Plan {
  readonly request: LoadRequest;
  readonly connections: number;
  readonly rounds: number;
  readonly roundSeconds: number;
  readonly warmUpSeconds: number;
  readonly thinkMs?: number;
}

/**
 * Lets the contestants run in turn, round by round, so that whatever else the machine does meets all of them. A
 * contestant that answers something else than was asked for leaves the run: a fast refusal is no result.
 */
export async function runRounds(
  contestants: ReadonlyMap<string, RunningContestant>,
  plan: Plan,
): Promise<ReadonlyMap<string, readonly Round[]>> {
  const all = new Map<string, Round[]>([...contestants.keys()].map((name) => [name, []]));
  for (let round = -1; round < plan.rounds; round++) {
    const seconds = round < 0 ? plan.warmUpSeconds : plan.roundSeconds;
    for (const [name, rounds] of all) {
      const contestant = contestants.get(name);
      try {
        const done = contestant && (await runRound(name, contestant, plan, seconds));
        if (done && round >= 0) rounds.push(done);
      } catch (error) {
        all.delete(name);
        console.error(`left out: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  }
  return all;
}

/** A limit that is refused lets one through now and then; whoever answers otherwise more often does not do the work. */
const asWantedShareMin = 0.98;

async function runRound(
  name: string,
  { url, keys, pid, headers = {}, status = 200 }: RunningContestant,
  { request, connections, thinkMs }: Plan,
  seconds: number,
): Promise<Round> {
  const before = pid === undefined ? 0 : cpuSeconds(pid);
  const told = { ...request, headers: { ...request.headers, ...headers } };
  const pause = thinkMs === undefined ? {} : { thinkMs };
  const result = await load({ url, keys, request: told, connections, seconds, ...pause });
  const used = pid === undefined ? undefined : cpuSeconds(pid) - before;
  const answers = result.statuses.values().reduce((sum, count) => sum + count, 0);
  const asWanted = result.statuses.get(status) ?? 0;
  if (answers === 0 || result.broken > 0 || asWanted < answers * asWantedShareMin) {
    const seen = [...result.statuses].map(([code, count]) => `${count} × ${code}`).join(", ");
    throw new Error(`${name}: ${result.broken} broken requests of ${result.requests}; answers: ${seen}`);
  }
  return {
    cpuMicrosPerRequest: used === undefined ? undefined : (used / result.requests) * 1e6,
    requestsPerSecond: result.requestsPerSecond,
    p50Ms: result.p50Ms,
    p99Ms: result.p99Ms,
  };
}
