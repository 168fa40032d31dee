import { readFileSync } from "node:fs";

/** What a process and its children keep in memory at this moment. */
export const residentMegabytes = (pid: number): number =>
  [pid, ...childrenOf(pid)].reduce((sum, each) => sum + residentKilobytes(each), 0) / 1024;

function childrenOf(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
    return children === "" ? [] : children.split(" ").map(Number);
  } catch {
    return [];
  }
}

const residentKilobytes = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);
