import { Database, SQLiteError } from "bun:sqlite";
import { existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { giveToOwnerOf } from "../../../platform/give-to-owner.ts";
import type { OpeningEvents } from "../../data-place.ts";
import { isBusy } from "./failures.ts";
import { isOfEarlierVersion, migrate, versionOf } from "../schema/migrate.ts";
import { closeFiles, makePrivate, openPrivateFolder } from "./private-files.ts";

/** While opening, another process may be migrating the same file; wait for it. */
const openingTimeoutMs = 5_000;

interface Opening extends Partial<OpeningEvents> {
  /** Brings data of an earlier version forward, or refuses to; at once when nobody says. */
  readonly guardMigration?: ((migrate: () => void) => void) | undefined;
}

/** Opens the file with the promises the ledger depends on: WAL, and an fsync in every commit. */
export function openDatabase(path: string, opening: Opening = {}): Database {
  openPrivateFolder(dirname(path));
  // SQLite gives the log and its index the rights of the file.
  closeFiles([path, `${path}-wal`, `${path}-shm`]);
  checkNotLost(path);
  return namingFile(path, () => prepare(path, opening));
}

function prepare(path: string, opening: Opening): Database {
  const options = { create: true, readwrite: true, strict: true, safeIntegers: true } as const;
  const isNew = !existsSync(path);
  const db = makePrivate(() => new Database(path, options));
  // SQLite gives the log and its index the owner of the file.
  if (isNew) giveToOwnerOf(dirname(path), path);
  db.run(`PRAGMA busy_timeout = ${openingTimeoutMs}`);
  useWriteAheadLog(db);
  db.run("PRAGMA synchronous = FULL");
  db.run("PRAGMA foreign_keys = ON");
  // Pages are copied from the log in a commit, in which nobody is served: often and little rather than rarely and much.
  db.run("PRAGMA wal_autocheckpoint = 1000");
  // A usage report over a year reads some hundred pages; in SQLite's own two megabytes they push each other out.
  db.run("PRAGMA cache_size = -8000");
  if (isOfEarlierVersion(db)) bringForward(db, opening);
  else migrate(db);
  // From here on nobody blocks the event loop for a lock: the group commit waits for its turn by itself.
  db.run("PRAGMA busy_timeout = 0");
  return db;
}

/** SQLite would begin a new file, and throw away what is left of the one that somebody took away while it was in use. */
export function checkNotLost(path: string): void {
  const log = `${path}-wal`;
  // Looked at first, because the file is there before its log is.
  const hasLog = (statSync(log, { throwIfNoEntry: false })?.size ?? 0) > 0;
  if (!hasLog || existsSync(path)) return;
  throw new Error(
    `${path} is missing, but the log of what was written to it last is there. Put the file back, or restore a backup. ` +
      `To begin anew, remove ${log}, too.`,
  );
}

function bringForward(
  db: Database,
  { guardMigration = (act) => act(), onBroughtForward = () => {} }: Opening,
): void {
  const from = versionOf(db);
  guardMigration(() => migrate(db));
  onBroughtForward({ from, to: versionOf(db) });
}

/** SQLite's own words do not say which file they are about, and who reads them has to mend its folder. */
export function namingFile<Value>(path: string, use: () => Value): Value {
  try {
    return use();
  } catch (error) {
    const sentence = error instanceof SQLiteError ? sentenceAbout(path, error) : undefined;
    throw sentence === undefined ? error : new Error(sentence, { cause: error });
  }
}

function sentenceAbout(path: string, { code = "", message }: SQLiteError): string | undefined {
  if (code.startsWith("SQLITE_READONLY"))
    return `${path} cannot be written: ${message}. Is its folder read-only, or somebody else's?`;
  if (code.startsWith("SQLITE_FULL")) return `${path} cannot be written: ${message}. ${bringRoom}`;
  // Whoever only reads writes where each reader is, too, and of a disk without room for that SQLite says no more.
  if (code === "SQLITE_IOERR_SHMSIZE") return `${path} cannot be used: its disk is full. ${bringRoom}`;
  if (code.startsWith("SQLITE_IOERR"))
    return `${path} cannot be used: ${message}. Is its disk full, or failing?`;
  if (code.startsWith("SQLITE_CANTOPEN"))
    return `${path} cannot be opened: ${message}. Is it a file, and this user's?`;
  if (code.startsWith("SQLITE_NOTADB"))
    return `${path} cannot be used: ${message}. Is TOLLGATE_STORE or TOLLGATE_DATA right?`;
  return code.startsWith("SQLITE_CORRUPT") ? damaged(path, message) : undefined;
}

export const bringRoom = "Make room on its disk.";

export const damaged = (path: string, why: string): string => `${path} is damaged: ${why}. Restore a backup.`;

/** Most damage is met long after the file was opened, by whoever reads the page. Any other error is as it was. */
export const namingDamage = (path: string, error: unknown): unknown =>
  error instanceof SQLiteError && error.code?.startsWith("SQLITE_CORRUPT") === true
    ? new Error(damaged(path, error.message), { cause: error })
    : error;

/** SQLite does not wait for others here as it does elsewhere, so several programs that open a new file must. */
function useWriteAheadLog(db: Database): void {
  for (let waitedMs = 0; ; waitedMs += retryEveryMs) {
    try {
      db.run("PRAGMA journal_mode = WAL");
      return;
    } catch (error) {
      if (!isBusy(error) || waitedMs >= openingTimeoutMs) throw error;
      Bun.sleepSync(retryEveryMs);
    }
  }
}

const retryEveryMs = 10;
