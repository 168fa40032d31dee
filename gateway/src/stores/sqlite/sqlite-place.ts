import { resolve } from "node:path";
import { checkData, type DataPlace } from "../data-place.ts";
import { backUp } from "./file/backup.ts";
import { checkRoomForBallast } from "./file/ballast.ts";
import { checkWritable } from "./file/check-writable.ts";
import { backUpInto } from "./file/kept-backups.ts";
import { checkNotLost, namingDamage } from "./file/database.ts";
import { isThere } from "../../platform/is-there.ts";
import { lookAtFile } from "./file/look-at-file.ts";
import { realPathOf } from "./file/real-path.ts";
import { restore } from "./file/restore.ts";
import { takeServerLock, type ServerLock } from "./file/server-lock.ts";
import { openSqliteStore } from "./sqlite-store.ts";

/** A file, for one server. */
export function sqlitePlace(givenPath: string, wallMs: () => number): DataPlace {
  const path = realPathOf(givenPath);
  const lockPath = `${path}.lock`;
  const ballastPath = `${path}.ballast`;

  const lockServer = (): ServerLock => {
    const lock = takeServerLock(lockPath);
    if (lock) return lock;
    throw new Error(`Another Tollgate is serving ${path}; one file has one server.`);
  };

  /** A server of the earlier version would go on writing what it finds no place for any more. */
  const migrateAlone = (migrate: () => void): void => {
    const lock = takeServerLock(lockPath);
    if (!lock) {
      throw new Error(
        `An earlier version of Tollgate is serving ${path}. Stop it before you use this one, ` +
          "or use the command of that version.",
      );
    }
    try {
      migrate();
    } finally {
      lock.release();
    }
  };

  const here = { name: resolve(givenPath), hasData: async () => isThere(path) };

  return {
    ...here,
    look: async () => {
      const hasData = await here.hasData();
      checkWritable(path);
      if (hasData) return lookAtFile(path);
      checkNotLost(path);
      return undefined;
    },
    checkRoom: () => checkRoomForBallast(ballastPath),
    explain: (error) => namingDamage(path, error),
    openForPeople: async (events) =>
      openSqliteStore({ path, patienceMs: patienceOfPeopleMs, guardMigration: migrateAlone, ...events }),
    openForServing: async (events) => {
      // SQLite opens a file that it may only read, and stumbles over it later, without its name.
      checkWritable(path);
      const lock = lockServer();
      try {
        return {
          store: openSqliteStore({ path, ballastPath, ...events }),
          leave: lock.release,
        };
      } catch (error) {
        lock.release();
        throw error;
      }
    },
    backUp: async (file) => {
      await checkData(here);
      await backUp(path, file);
    },
    backUpInto: async (folder, keep) => {
      await checkData(here);
      return backUpInto({ path, folder, keep, nowMs: wallMs() });
    },
    restore: async (file, options) => {
      const lock = lockServer();
      try {
        return restore({ backup: file, path, nowMs: wallMs(), ...options });
      } finally {
        lock.release();
      }
    },
  };
}

const patienceOfPeopleMs = 20_000;
