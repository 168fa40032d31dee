import { readdirSync, readFileSync } from "node:fs";

/** What the kernel says about a process in one line, and whose child it is. */
export interface ProcessStat {
  readonly parent: number;
  /** What follows the parent, as `man proc` numbers it from 5 on. */
  readonly rest: readonly string[];
}

/** A process and everybody it descends to, as they are at this moment. */
export function processTree(pid: number): Map<number, ProcessStat> {
  const all = new Map<number, ProcessStat>();
  for (const name of readdirSync("/proc")) {
    const stat = /^\d+$/.test(name) ? statOf(Number(name)) : undefined;
    if (stat) all.set(Number(name), stat);
  }
  return new Map([...all].filter(([candidate]) => descends(candidate, pid, all)));
}

function descends(pid: number, from: number, all: ReadonlyMap<number, ProcessStat>): boolean {
  for (let at: number | undefined = pid; at !== undefined; at = all.get(at)?.parent)
    if (at === from) return true;
  return false;
}

/** Undefined for a process that has just ended. */
function statOf(pid: number): ProcessStat | undefined {
  const stat = readOrNothing(`/proc/${pid}/stat`);
  if (stat === "") return undefined;
  // The name of the program stands in parentheses and may contain anything, so fields are counted from its end.
  const [, parent, ...rest] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { parent: Number(parent), rest };
}

/** Whoever is asked about may have just ended. */
export function readOrNothing(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
