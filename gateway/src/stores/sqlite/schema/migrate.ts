import type { Database } from "bun:sqlite";
import { migrations } from "./migrations.ts";

export const schemaVersion = migrations.length;

/** Brings the file forward to this program's schema, or to an older one; refuses one made by a newer program. */
export function migrate(db: Database, target = schemaVersion): void {
  const version = knownVersionOf(db);
  for (let next = version; next < target; next++) {
    db.transaction(() => {
      // Another program may have opened the same file and run it since we looked.
      if (versionOf(db) !== next) return;
      db.run(migrations[next] ?? "");
      db.run(`PRAGMA user_version = ${next + 1}`);
    }).immediate();
  }
}

/** The schema of the file, 0 where there is none yet; throws for one made by a newer program. */
export function knownVersionOf(db: Database): number {
  const version = versionOf(db);
  if (version <= schemaVersion) return version;
  throw new Error(
    `The data was written by a newer Tollgate (schema ${version}; this program knows ${schemaVersion}). ` +
      "Start that version, or restore an older backup.",
  );
}

/** A new file is of none. */
export function isOfEarlierVersion(db: Database): boolean {
  const version = versionOf(db);
  return version > 0 && version < schemaVersion;
}

export function versionOf(db: Database): number {
  const row = db.query<{ user_version: bigint }, []>("PRAGMA user_version").get();
  return Number(row?.user_version ?? 0n);
}
