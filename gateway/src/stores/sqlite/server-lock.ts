import { Database } from "bun:sqlite";
import { makePrivate } from "./private-files.ts";

/** Held by the one server of a data folder. The operating system gives it back when the process dies, however it dies. */
export interface ServerLock {
  readonly release: () => void;
}

/** Undefined when another process holds the lock. */
export function takeServerLock(path: string): ServerLock | undefined {
  const db = makePrivate(() => new Database(path, { create: true }));
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
