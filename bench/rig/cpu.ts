// CPU time as the kernel accounts it for the processes themselves, in two ways, because each alone has a fault.
// `stat` counts a whole process, threads that have ended included, but in ticks of 10 ms for user and system time each:
// 1 or 2 % of a busy second. `schedstat` counts each living thread in nanoseconds, and forgets a thread when it ends.
// The finer one is taken, unless the coarser one has seen more than its own coarseness explains: then threads have ended.

import { readdirSync } from "node:fs";
import { processTree, readOrNothing } from "./process-tree.ts";

/** How long a tick of /proc is; Linux counts a hundred in a second on every machine we meet. */
const ticksPerSecond = 100;
/** Two sums of ticks, each cut off at both ends of a measurement. */
const coarsenessSeconds = 2 / ticksPerSecond;

/** What a process and its living descendants have used up to a moment. */
export interface CpuReading {
  readonly tickSeconds: number;
  readonly threadSeconds: ReadonlyMap<string, number>;
}

export function readCpu(pid: number): CpuReading {
  let ticks = 0;
  const threadSeconds = new Map<string, number>();
  for (const [each, { rest }] of processTree(pid)) {
    ticks += Number(rest[9]) + Number(rest[10]);
    for (const [thread, seconds] of threadsOf(each)) threadSeconds.set(thread, seconds);
  }
  return { tickSeconds: ticks / ticksPerSecond, threadSeconds };
}

export function cpuSecondsBetween(before: CpuReading, after: CpuReading): number {
  const coarse = after.tickSeconds - before.tickSeconds;
  let fine = 0;
  for (const [thread, seconds] of after.threadSeconds)
    fine += seconds - (before.threadSeconds.get(thread) ?? 0);
  return coarse - fine > coarsenessSeconds ? coarse : fine;
}

/** Empty where the kernel keeps no such accounts. */
function threadsOf(pid: number): [string, number][] {
  let threads: string[] = [];
  try {
    threads = readdirSync(`/proc/${pid}/task`);
  } catch {
    // The process has just ended.
  }
  return threads.flatMap((thread) => {
    const nanoseconds = readOrNothing(`/proc/${pid}/task/${thread}/schedstat`).split(" ")[0] ?? "";
    return nanoseconds === "" ? [] : [[`${pid}/${thread}`, Number(nanoseconds) / 1e9]];
  });
}
