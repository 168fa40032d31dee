// CPU time as the kernel accounts it for the processes themselves, in two ways, because each alone has a fault.
// `stat` counts a whole process, threads that have ended included, but in ticks of 10 ms for user and system time each:
// 1 or 2 % of a busy second. `schedstat` counts each living thread in nanoseconds, and forgets a thread when it ends.
// The finer one is taken, unless the coarser one has seen more than its own coarseness explains: then threads have ended.

import { readdirSync, readFileSync } from "node:fs";

/** How long a tick of /proc is; Linux counts a hundred in a second on every machine we meet. */
const ticksPerSecond = 100;
/** Two sums of ticks, each cut off at both ends of a measurement. */
const coarsenessSeconds = 2 / ticksPerSecond;

/** What a process and its living children have used up to a moment. */
export interface CpuReading {
  readonly tickSeconds: number;
  readonly threadSeconds: ReadonlyMap<string, number>;
}

export function readCpu(pid: number): CpuReading {
  const all = new Map<number, Counted>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const counted = count(Number(name));
    if (counted) all.set(Number(name), counted);
  }
  let ticks = 0;
  const threadSeconds = new Map<string, number>();
  for (const [candidate, counted] of all) {
    if (!descends(candidate, pid, all)) continue;
    ticks += counted.ticks;
    for (const [thread, seconds] of threadsOf(candidate)) threadSeconds.set(thread, seconds);
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

interface Counted {
  readonly parent: number;
  readonly ticks: number;
}

function descends(pid: number, from: number, all: ReadonlyMap<number, Counted>): boolean {
  for (let at: number | undefined = pid; at !== undefined; at = all.get(at)?.parent)
    if (at === from) return true;
  return false;
}

/** Undefined for a process that has just ended. */
function count(pid: number): Counted | undefined {
  const stat = readOrNothing(`/proc/${pid}/stat`);
  if (stat === "") return undefined;
  // The name of the program stands in parentheses and may contain anything, so fields are counted from its end.
  const [, parent, ...rest] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { parent: Number(parent), ticks: Number(rest[9]) + Number(rest[10]) };
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

function readOrNothing(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
