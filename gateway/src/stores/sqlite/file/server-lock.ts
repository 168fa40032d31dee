import { Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { bringRoom } from "./database.ts";
import { isBusy, isFull } from "./failures.ts";
import { makePrivate, openPrivateFolder } from "./private-files.ts";
import { giveToOwnerOf } from "../../../platform/give-to-owner.ts";
import { messageOf } from "../../../platform/error-message.ts";

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
  } catch (error) {
    db.close();
    // Anything else, such as a file that is no lock, is not another server and must not be taken for one.
    if (isBusy(error)) return undefined;
    throw cannotOpen(path, error);
  }
}

function openLockFile(path: string): Database {
  const isNew = !existsSync(path);
  try {
    const db = makePrivate(() => new Database(path, { create: true }));
    if (isNew) giveToOwnerOf(dirname(path), path);
    return db;
  } catch (error) {
    throw cannotOpen(path, error);
  }
}

const cannotOpen = (path: string, error: unknown): Error =>
  new Error(`${path} cannot be opened: ${messageOf(error)}.${isFull(error) ? ` ${bringRoom}` : ""}`, {
    cause: error,
  });
