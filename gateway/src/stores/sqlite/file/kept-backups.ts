import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { dayMs } from "../../../platform/utc-day.ts";
import { backUp, partialSuffix } from "./backup.ts";

interface KeptBackups {
  readonly path: string;
  readonly folder: string;
  /** How many there are afterwards, the new one included. */
  readonly keep: number;
  readonly nowMs: number;
}

export interface MadeBackup {
  readonly file: string;
  /** Older ones, oldest first. */
  readonly deleted: readonly string[];
}

/** Adds a backup named by its moment to those in a folder, and only when it is whole lets go of the oldest. */
export async function backUpInto({ path, folder, keep, nowMs }: KeptBackups): Promise<MadeBackup> {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new Error(`There is no folder ${folder}; with --keep the backups are kept in one.`);
  }
  const name = nameAt(nowMs);
  const earlier = namesIn(folder);
  await backUp(path, join(folder, name));
  // Found by its own name and not by order: after a clock was set back the newest may bear an early date.
  const old = earlier.slice(0, Math.max(0, earlier.length - (keep - 1)));
  const deleted = [...leftBehind(folder, nowMs), ...old].map((one) => join(folder, one));
  for (const file of deleted) rmSync(file, { force: true });
  return { file: join(folder, name), deleted: old.map((one) => join(folder, one)) };
}

const nameAt = (nowMs: number): string =>
  `tollgate-${new Date(nowMs).toISOString().replaceAll(/[-:]|\.\d+/g, "")}.db`;

const ours = /^tollgate-\d{8}T\d{6}Z\.db$/;

/** Whatever else lies there is somebody else's, and stays. */
const namesIn = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => ours.test(name))
    .toSorted();

/** No copy takes so long; whoever began it was killed. */
const abandonedAfterMs = dayMs;

const leftBehind = (folder: string, nowMs: number): string[] =>
  readdirSync(folder).filter((name) => {
    const [, whole = ""] = new RegExp(`^(.+)\\.\\d+\\${partialSuffix}(-journal)?$`).exec(name) ?? [];
    if (!ours.test(whole)) return false;
    const { mtimeMs = nowMs } = statSync(join(folder, name), { throwIfNoEntry: false }) ?? {};
    return nowMs - mtimeMs > abandonedAfterMs;
  });
