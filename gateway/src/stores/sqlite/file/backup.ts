import { Database } from "bun:sqlite";
import { existsSync, linkSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { syncFolder } from "../../../platform/sync-folder.ts";
import { namingFile } from "./database.ts";
import { checkNotMoved } from "./moved-mark.ts";
import { checkSound, copyInto, syncFile } from "./sound-copy.ts";

/**
 * Writes a complete copy of one moment of the data; a server may go on serving meanwhile. What an earlier version wrote is
 * copied as it is, so that whoever backs up before an upgrade can go back to it. A file of this name is a whole backup that
 * can be opened, or there is none: until then it is called otherwise.
 */
export async function backUp(path: string, file: string): Promise<void> {
  if (existsSync(file)) throw exists(file);
  const folder = dirname(resolve(file));
  if (!existsSync(folder)) throw new Error(`unable to open ${file}: there is no folder ${folder}.`);
  if (!existsSync(path)) throw new Error(`There is no data to back up at ${path}.`);
  const arriving = `${file}.${process.pid}${partialSuffix}`;
  removePartial(arriving);
  try {
    // Whoever reads a log beside its file also writes: where each reader is.
    const db = namingFile(path, () => new Database(path, { readwrite: true }));
    try {
      db.run(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
      // A timer that nobody thought of would go on backing up what nobody writes to any more.
      namingFile(path, () => checkNotMoved(db, path));
      copyInto(db, arriving);
    } finally {
      db.close();
    }
    checkReadable(arriving);
    syncFile(arriving);
    publish(arriving, file);
    syncFolder(folder);
  } finally {
    removePartial(arriving);
  }
}

function removePartial(arriving: string): void {
  for (const suffix of ["", "-journal"]) rmSync(arriving + suffix, { force: true });
}

/** What a backup is called until it is whole. Only a process that was killed leaves one behind. */
export const partialSuffix = ".partial";

/** A backup is waited for by nobody but a timer. */
const busyTimeoutMs = 20_000;

const exists = (file: string): Error =>
  new Error(
    statSync(file).isDirectory()
      ? `${file} is a folder; with --keep N dated backups are kept in it.`
      : `${file} exists already; a backup never overwrites a file.`,
  );

/** Gives the copy its name, unless somebody else took it meanwhile. */
function publish(arriving: string, file: string): void {
  try {
    linkSync(arriving, file);
  } catch {
    if (existsSync(file)) throw exists(file);
    // Not every file system lets a file have two names.
    renameSync(arriving, file);
  }
}

function checkReadable(file: string): void {
  const db = new Database(file, { readonly: true });
  try {
    checkSound(db, file);
  } finally {
    db.close();
  }
}
