import type { RunningContestant } from "./contestant.ts";
import { messageOf } from "../../gateway/src/platform/error-message.ts";

export type Runners = ReadonlyMap<string, RunningContestant>;
/** Told who was left out of what follows, and why; the report says so. */
export type LeaveOut = (name: string, why: string) => void;

/**
 * Lets everybody work in turn, round by round, so that whatever else the machine does meets all of them. Each round
 * begins with another one, so that nobody is always the first. Whoever fails leaves, and the others go on.
 */
export async function inTurns<Figure>(
  running: Runners,
  { rounds, leaveOut }: { readonly rounds: number; readonly leaveOut: LeaveOut },
  work: (contestant: RunningContestant, name: string) => Promise<Figure>,
): Promise<Map<string, Figure[]>> {
  const figures = new Map<string, Figure[]>([...running.keys()].map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    const names = [...running.keys()];
    for (const at of names.keys()) {
      const name = names[(at + round) % names.length] ?? "";
      const [contestant, seen] = [running.get(name), figures.get(name)];
      if (!contestant || !seen) continue;
      try {
        seen.push(await work(contestant, name));
      } catch (error) {
        figures.delete(name);
        leaveOut(name, messageOf(error));
      }
    }
  }
  return figures;
}
