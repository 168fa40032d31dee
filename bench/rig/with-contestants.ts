import type { Contestant, RunningContestant } from "./contestant.ts";
import type { Upstream } from "./upstream.ts";

/** Opens an upstream and the contestants before it, lets them work, and closes them all. */
export async function withContestants<Source extends Upstream, Result>(
  opening: Promise<Source>,
  contestants: readonly Contestant[],
  work: (running: ReadonlyMap<string, RunningContestant>, upstream: Source) => Promise<Result>,
): Promise<Result> {
  const upstream = await opening;
  const running = new Map<string, RunningContestant>();
  try {
    for (const { name, open } of contestants) {
      const opened = await open(upstream).catch((error: unknown) => {
        console.error(`left out: ${name}: ${error instanceof Error ? error.message : String(error)}`);
      });
      if (opened) running.set(name, opened);
    }
    return await work(running, upstream);
  } finally {
    for (const contestant of running.values()) await contestant.close();
    await upstream.close();
  }
}
