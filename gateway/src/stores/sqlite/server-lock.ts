import { Database } from "bun:sqlite";
import { dirname } from "node:path";
import { makePrivate, openPrivateFolder } from "./private-files.ts";

/** Held by the one server of a data folder. The operating system gives it back when the process dies, however it dies. */
export interface ServerLock {
  readonly release: () => void;
}

/** Undefined when another process holds the lock. */
export function takeServerLock(path: string): ServerLock | undefined {
  // The lock is taken before anything else, so on a new machine it is the first that needs the folder.
  openPrivateFolder(dirname(path));
  const db = openLockFile(path);
  try {
    db.run("PRAGMA busy_timeout = 0");
    db.run("PRAGMA journal_mode = DELETE");
    db.run("BEGIN EXCLUSIVE");
    return { release: () => db.close() };
  } catch {
    db.close();
    return undefined;
  }
}

function openLockFile(path: string): Database {
  try {
    return makePrivate(() => new Database(path, { create: true }));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`${path} cannot be opened: ${why}.`, { cause: error });
  }
}
