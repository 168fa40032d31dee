import { readdirSync, readFileSync } from "node:fs";

/** How long a tick of /proc is; Linux counts a hundred in a second on every machine we meet. */
const ticksPerSecond = 100;

interface Counted {
  readonly parent: number;
  readonly ticks: number;
}

/** The CPU time, user and system, that a process and its living children have used so far. */
export function cpuSeconds(pid: number): number {
  const all = new Map<number, Counted>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const counted = count(Number(name));
    if (counted) all.set(Number(name), counted);
  }
  let ticks = 0;
  for (const [candidate, counted] of all) if (descends(candidate, pid, all)) ticks += counted.ticks;
  return ticks / ticksPerSecond;
}

function descends(pid: number, from: number, all: ReadonlyMap<number, Counted>): boolean {
  for (let at: number | undefined = pid; at !== undefined; at = all.get(at)?.parent)
    if (at === from) return true;
  return false;
}

/** Undefined for a process that has just ended. */
function count(pid: number): Counted | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return undefined;
  }
  // The name of the program stands in parentheses and may contain anything, so fields are counted from its end.
  const [, parent, ...rest] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { parent: Number(parent), ticks: Number(rest[9]) + Number(rest[10]) };
}
