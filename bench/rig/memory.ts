import { processTree, readOrNothing } from "./process-tree.ts";

/**
 * What a process and its descendants keep in memory at this moment. Pages that several of them share count for each,
 * which is nginx's only; to divide them among all who map them would count the Bun of the others for us.
 */
export const residentMegabytes = (pid: number): number =>
  [...processTree(pid).keys()].reduce((sum, each) => sum + residentKilobytes(each), 0) / 1024;

const residentKilobytes = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readOrNothing(`/proc/${pid}/status`))?.[1] ?? 0);
