import type { Contestant, RunningContestant } from "./contestant.ts";
import type { LeaveOut, Runners } from "./in-turns.ts";
import { probe } from "./probe.ts";
import type { Scenario } from "./scenario.ts";
import type { Upstream } from "./upstream.ts";
import { messageOf } from "../../gateway/src/platform/error-message.ts";

/** Opens an upstream and the contestants before it, lets those work who answer what is asked, and closes them all. */
export async function withContestants<Source extends Upstream, Result>(
  opening: Promise<Source>,
  scenario: Pick<Scenario, "request" | "told">,
  { contestants, leaveOut }: { readonly contestants: readonly Contestant[]; readonly leaveOut: LeaveOut },
  work: (running: Runners, upstream: Source) => Promise<Result>,
): Promise<Result> {
  const upstream = await opening;
  const running = new Map<string, RunningContestant>();
  try {
    for (const { name, open } of contestants) {
      try {
        running.set(name, await open(upstream));
      } catch (error) {
        leaveOut(name, messageOf(error));
      }
    }
    return await work(await probe(running, scenario, leaveOut), upstream);
  } finally {
    await Promise.allSettled([...running.values()].map((contestant) => contestant.close()));
    await upstream.close();
  }
}

/** Those of them whose names are given. */
export const only = (running: Runners, names: readonly string[]): Runners =>
  new Map([...running].filter(([name]) => names.includes(name)));
