import { inTurns, type LeaveOut, type Runners } from "./in-turns.ts";
import type { RunningContestant } from "./contestant.ts";

/** How long contestants work before anything is measured: until they are steady, within these bounds. */
export interface WarmUp {
  readonly secondsMin: number;
  readonly secondsMax: number;
}

/** Enough for connections to be made and caches to be filled, after the long warm-up or without a need for it. */
export const briefly: WarmUp = { secondsMin: 1, secondsMax: 1 };

/** For those who were just warmed up by the same work. */
export const notAtAll: WarmUp = { secondsMin: 0, secondsMax: 0 };

/** Two seconds that differ by less are alike. */
const alikeWithin = 0.03;
/** One such pair may be chance, in the middle of a slow climb. */
const alikeInARow = 2;

/**
 * Bun and Node compile what is hot while it runs, for ten seconds and more; whoever does not compile is warm at once.
 * Returns those who did the work; `second` works for about that long and tells what it cost.
 */
export async function warmUp(
  running: Runners,
  { bounds, leaveOut }: { readonly bounds: WarmUp; readonly leaveOut: LeaveOut },
  second: (contestant: RunningContestant, name: string) => Promise<number>,
): Promise<Runners> {
  const warmed = await inTurns(running, { rounds: 1, leaveOut }, async (contestant, name) => {
    const secondsMax = contestant.compiles === true ? bounds.secondsMax : Math.min(bounds.secondsMax, 1);
    let [before, inARow] = [Number.NaN, 0];
    // On a busy machine a second of work takes longer than one, and nobody looks steady; it is not waited for.
    const untilMs = performance.now() + secondsMax * 1000;
    for (let at = 1; at <= secondsMax && performance.now() < untilMs; at++) {
      const cost = await second(contestant, name);
      inARow = Math.abs(cost / before - 1) < alikeWithin ? inARow + 1 : 0;
      before = cost;
      if (at >= bounds.secondsMin && inARow >= alikeInARow) return;
    }
  });
  return new Map([...running].filter(([name]) => warmed.has(name)));
}
