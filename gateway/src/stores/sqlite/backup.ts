import { Database } from "bun:sqlite";
import { copyFileSync, existsSync, renameSync, rmSync } from "node:fs";
import { schemaVersion, versionOf } from "./migrations.ts";

/** Writes a complete copy of one moment of the data; a server may go on serving meanwhile. */
export function backUp(db: Database, file: string): void {
  if (existsSync(file)) throw new Error(`${file} exists already; a backup never overwrites a file.`);
  db.query("VACUUM INTO ?1").run(file);
}

/** Puts a backup in the place of the data. The caller holds the server lock, so nobody is writing. */
export function restore(backup: string, path: string): void {
  checkBackup(backup);
  const arriving = `${path}.restoring`;
  copyFileSync(backup, arriving);
  // The old write-ahead log belongs to the old file; left behind, it would be replayed into the new one.
  for (const suffix of ["-wal", "-shm"]) rmSync(path + suffix, { force: true });
  renameSync(arriving, path);
}

function checkBackup(backup: string): void {
  if (!existsSync(backup)) throw new Error(`There is no file ${backup}.`);
  const db = new Database(backup, { readonly: true, safeIntegers: true });
  try {
    const check = db.query<{ integrity_check: string }, []>("PRAGMA integrity_check").get();
    if (check?.integrity_check !== "ok") throw new Error(`${backup} is damaged: ${check?.integrity_check}.`);
    const version = versionOf(db);
    if (version === 0 || version > schemaVersion) {
      throw new Error(`${backup} has schema ${version}; this program knows 1 to ${schemaVersion}.`);
    }
  } catch (error) {
    if (error instanceof Error && error.message.includes("not a database")) {
      throw new Error(`${backup} is not a backup of Tollgate.`, { cause: error });
    }
    throw error;
  } finally {
    db.close();
  }
}
