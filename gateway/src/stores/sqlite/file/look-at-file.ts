import { Database } from "bun:sqlite";
import type { SeenData } from "../../../store/seen-data.ts";
import { damaged, namingFile } from "./database.ts";
import { findSecret } from "../installation-rows.ts";
import { knownVersionOf, schemaVersion } from "../schema/migrate.ts";
import { checkNotMoved } from "./moved-mark.ts";

/** Undefined for a file in which nothing was begun yet; throws why it cannot be used. */
export function lookAtFile(path: string): SeenData | undefined {
  return namingFile(path, () => {
    // Whoever reads a log beside its file also writes: where each reader is.
    const db = new Database(path, { readwrite: true, safeIntegers: true });
    try {
      db.run(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
      const schema = knownVersionOf(db);
      if (schema === 0) return undefined;
      checkNotMoved(db, path);
      checkPages(db, path);
      return { schema, schemaKnown: schemaVersion, fingerprint: findSecret(db) };
    } finally {
      db.close();
    }
  });
}

/** Reads every page, and so takes as long as that does. */
function checkPages(db: Database, path: string): void {
  const found = db.query<{ quick_check: string }, []>("PRAGMA quick_check(1)").get()?.quick_check;
  // A line before it names the database, of which there is one.
  if (found !== "ok") throw new Error(damaged(path, found?.split("\n").at(-1) ?? "it cannot be checked"));
}

const busyTimeoutMs = 5_000;
