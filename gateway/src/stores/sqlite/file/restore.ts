import { Database, SQLiteError } from "bun:sqlite";
import { copyFileSync, existsSync, linkSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { giveToOwnerOf } from "../../../platform/give-to-owner.ts";
import { syncFolder } from "../../../platform/sync-folder.ts";
import { findSecret } from "../installation-rows.ts";
import { schemaVersion, versionOf } from "../schema/migrate.ts";
import { namingFile } from "./database.ts";
import { readMovedMark } from "./moved-mark.ts";
import { makePrivate } from "./private-files.ts";
import { checkSound, copyInto, syncFile } from "./sound-copy.ts";

interface Restore {
  readonly backup: string;
  readonly path: string;
  /** The fingerprint of the secret that this installation has; undefined where none was made yet. */
  readonly fingerprint: string | undefined;
  readonly nowMs: number;
  /** For who knows that the books of the data were moved, and wants those of the backup here all the same. */
  readonly overMoved?: boolean;
}

/**
 * Puts a backup in the place of the data, and tells under which name the data that was there is kept. The caller holds
 * the server lock, so nobody is writing.
 */
export function restore({
  backup,
  path,
  fingerprint,
  nowMs,
  overMoved = false,
}: Restore): string | undefined {
  if (isSameFile(backup, path)) throw new Error(`${backup} is the data itself, not a backup of it.`);
  if (!overMoved) checkNotElsewhere(path);
  const arriving = `${path}.restoring`;
  rmSync(arriving, { force: true });
  copyChecked(backup, arriving, fingerprint);
  giveToOwnerOf(existsSync(path) ? path : dirname(resolve(path)), arriving);
  syncFile(arriving);
  foldInLog(path);
  const kept = keep(path, nowMs);
  // The old write-ahead log belongs to the old file; left behind, it would be replayed into the new one.
  for (const suffix of ["-wal", "-shm"]) rmSync(path + suffix, { force: true });
  renameSync(arriving, path);
  syncFolder(dirname(resolve(path)));
  return kept;
}

function isSameFile(one: string, other: string): boolean {
  const [first, second] = [one, other].map((file) => statSync(file, { bigint: true, throwIfNoEntry: false }));
  return first !== undefined && first.dev === second?.dev && first.ino === second.ino;
}

/** A backup from before a move has the same accounts, and would sell a second time what is sold where they went. */
function checkNotElsewhere(path: string): void {
  const mark = findMovedMark(path);
  if (!mark) return;
  throw new Error(
    `The books of ${path} ${mark.hasArrived ? "were moved" : "are being moved"} to ${mark.to}, and nothing was changed: ` +
      "restored here they could be sold from twice. If nobody sells from them there any more, and nobody will, " +
      "--over-moved-books restores the backup all the same.",
  );
}

function findMovedMark(path: string): ReturnType<typeof readMovedMark> {
  if (!existsSync(path)) return undefined;
  try {
    const db = new Database(path, { readwrite: true });
    try {
      return readMovedMark(db);
    } finally {
      db.close();
    }
  } catch (error) {
    // Data too damaged to be read is what a restore is for, and what an early version wrote cannot have been moved.
    if (error instanceof SQLiteError) return undefined;
    throw error;
  }
}

/** Copies what the database says, not its bytes: beside the file there may be a log with the newest of it. */
function copyChecked(backup: string, copy: string, fingerprint: string | undefined): void {
  if (!existsSync(backup)) throw new Error(`There is no file ${backup}.`);
  if (statSync(backup).isDirectory())
    throw new Error(`${backup} is a folder; name one of the backups in it.`);
  const db = namingFile(backup, () => new Database(backup, { readonly: true, safeIntegers: true }));
  try {
    checkBackup(db, backup);
    checkSecret(db, backup, fingerprint);
    copyInto(db, copy);
  } catch (error) {
    rmSync(copy, { force: true });
    throw error;
  } finally {
    db.close();
  }
}

function checkBackup(db: Database, backup: string): void {
  try {
    checkSound(db, backup);
    const version = versionOf(db);
    if (isBlank(db)) throw new Error(`${backup} is empty. ${ofAServersFile}`);
    if (version === 0 || !holdsBooks(db)) throw new Error(`${backup} is not a backup of Tollgate.`);
    if (version > schemaVersion) {
      throw new Error(
        `${backup} was written by a newer Tollgate (schema ${version}; this program knows 1 to ${schemaVersion}). ` +
          "Restore it with that version.",
      );
    }
  } catch (error) {
    if (error instanceof Error && error.message.includes("not a database")) {
      throw new Error(`${backup} is not a backup of Tollgate.`, { cause: error });
    }
    if (error instanceof SQLiteError)
      throw new Error(`${backup} is damaged: ${error.message}.`, { cause: error });
    throw error;
  }
}

/** As a file is that was never written to, or was copied from beside the log that a server writes first. */
const isBlank = (db: Database): boolean => db.query("SELECT 1 FROM sqlite_schema LIMIT 1").get() === null;

const ofAServersFile =
  "If it was copied while a server ran, what it held stands in the file beside that one whose name ends in -wal; " +
  "tollgate backup writes all of it.";

/** Other programs number their schemas too; only ours has accounts and entries. */
function holdsBooks(db: Database): boolean {
  const tables = db.query<{ name: string }, []>("SELECT name FROM sqlite_schema").all();
  return ["account", "call", "entry"].every((name) => tables.some((table) => table.name === name));
}

/** Under another secret no key would be recognised and no token opened: the data would be there, and good for nothing. */
function checkSecret(db: Database, backup: string, fingerprint: string | undefined): void {
  const claimed = findSecret(db);
  if (fingerprint === undefined || claimed === undefined || claimed === fingerprint) return;
  throw new Error(
    `${backup} was written under another secret than this installation has, and nothing was changed. ` +
      "If it is meant to go on here, first put its secret in the place of data/secret, or set TOLLGATE_SECRET to it " +
      "(is there a line break at its end?).",
  );
}

/** Moves the old log into the old file, so that a crash before the exchange loses nothing of the old data. */
function foldInLog(path: string): void {
  if (!existsSync(path)) return;
  const db = new Database(path, { readwrite: true });
  try {
    db.run("PRAGMA wal_checkpoint(TRUNCATE)");
  } catch {
    // Data too damaged to be read is what a restore is for.
  } finally {
    db.close();
  }
}

/** Gives the data a second name, so that there is never a moment without data under the first. */
function keep(path: string, nowMs: number): string | undefined {
  if (!existsSync(path)) return undefined;
  const moment = new Date(nowMs).toISOString().replaceAll(/[-:]|\.\d+/g, "");
  const usual = `${path}.before-restore-${moment}`;
  let kept = usual;
  for (let n = 2; existsSync(kept); n++) kept = `${usual}-${n}`;
  giveName(path, kept);
  // Only of data too damaged to be opened is anything still in the log.
  if (existsSync(`${path}-wal`) && statSync(`${path}-wal`).size > 0) giveName(`${path}-wal`, `${kept}-wal`);
  return kept;
}

function giveName(file: string, another: string): void {
  try {
    linkSync(file, another);
  } catch {
    // Not every file system lets a file have two names.
    makePrivate(() => copyFileSync(file, another));
    syncFile(another);
  }
}
